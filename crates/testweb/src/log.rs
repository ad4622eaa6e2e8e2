//! What a server remembers of its visitors, for tests that ask who came when.
//!
//! Off until asked for. Holds the first requests up to a limit and none after it: a test that needs more should empty
//! it in between.

use crate::limits::LOG_REQUESTS_MAX;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// A request as the server saw it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    pub host: String,
    /// With query.
    pub path: String,
    /// When its head was complete.
    pub at: Instant,
    /// What it was answered with.
    pub status: u16,
    /// Whether it named a version that the visitor had already.
    pub conditional: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Log {
    on: AtomicBool,
    requests: Mutex<Vec<Request>>,
}

impl Log {
    pub(crate) fn record(&self, on: bool) {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.on.store(on, Ordering::SeqCst);
    }

    pub(crate) fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    pub(crate) fn add(&self, request: Request) {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        if requests.len() < LOG_REQUESTS_MAX {
            requests.push(request);
        }
    }

    pub(crate) fn read(&self) -> Vec<Request> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
