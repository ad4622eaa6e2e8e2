//! What whoever watches a long work says when told how far it is: go on, or stop here.
//!
//! A closure that returns nothing always goes on; one that returns [`ControlFlow`] may break off. What was done until then
//! stays done, and the work ends with [`crate::Error::Stopped`].

use crate::error::{Error, Result};
use std::ops::ControlFlow;

pub trait Verdict {
    fn is_stop(&self) -> bool;
}

impl Verdict for () {
    fn is_stop(&self) -> bool {
        false
    }
}

impl Verdict for ControlFlow<()> {
    fn is_stop(&self) -> bool {
        self.is_break()
    }
}

pub(crate) fn heed(verdict: impl Verdict) -> Result<()> {
    if verdict.is_stop() { Err(Error::Stopped) } else { Ok(()) }
}
