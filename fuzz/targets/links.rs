#![no_main]

#[path = "../bodies/links.rs"]
mod links;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| links::run(bytes));
