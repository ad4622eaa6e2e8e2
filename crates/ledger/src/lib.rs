//! The ledger: what must outlive a machine and is no capture. What is known of a URL in a crawl, and the crawls themselves, are *records*: a name, a
//! version and some bytes. The later version counts, wherever it comes from, so two ledgers that were shown the same records in any order hold the same.
//!
//! Like captures, records have a place on the circle and a mark, and the ledger keeps the sums of marks by place: copies of both are compared, brought,
//! confirmed and let go by one mechanism (decision 0012). Records that were made on this machine wait in a list of their own until they are handed on.
//!
//! It is fjall, whose journal makes a batch outlive the process; [`Ledger::sync`] brings it to the disk. What can be lost without it is what
//! was written in the last moment before a power cut, and nothing of it was acknowledged.

mod bundle;
mod error;
mod ledger;
mod places;
mod record;

pub use bundle::{open_bundle, pack_bundle};
pub use error::{Error, Result};
pub use ledger::{Ledger, Taken};
pub use record::{CrawlId, NAME_BYTES_MAX, Name, RECORD_BYTES_MAX, Record};
