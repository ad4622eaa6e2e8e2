//! Being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Params { pub level: u8, pub window_bits: u8, pub mem_level: u8 }
pub(crate) fn deflate(_: &[u8], _: Params) -> Option<Vec<u8>> { None }
pub(crate) fn deflates_to(_: &[u8], _: Params, _: &[u8]) -> bool { false }
