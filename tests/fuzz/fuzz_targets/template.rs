#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| restante_fuzz_targets::template::run(data));
