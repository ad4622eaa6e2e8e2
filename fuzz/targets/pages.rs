#![no_main]

#[path = "../bodies/pages.rs"]
mod pages;

// A panic that is caught on purpose (preflate's) must not end the run; one that is not caught still does.
libfuzzer_sys::fuzz_target!(init: std::panic::set_hook(Box::new(|panic| eprintln!("{panic}"))), |bytes: &[u8]| {
    pages::run(bytes);
});
