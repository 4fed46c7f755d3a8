#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| restante_fuzz_targets::filter::run(data));
