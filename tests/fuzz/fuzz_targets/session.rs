#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| restante_fuzz_targets::session::run(data));
