//! Link exchange: links found on one node that belong to the places of others, on their way there.
//!
//! [`batch`] is what travels: many links in few bytes. [`Outbox`] is a pure machine over an ordered table: what was added and flushed is sent
//! until somebody acknowledges it, across deaths of the process and loss of power, straight to the owner or from node to node, as
//! [`Costs`] has it. Time comes in as `now`; there is no clock, socket or file inside.
//!
//! When all have arrived and nothing is left to visit, a crawl is over: [`end`].
//!
//! Who receives a batch takes what is its own, gives the rest to its own outbox ([`Outbox::forward`]), flushes both to the disk and only
//! then acknowledges. A link may so arrive twice, which is harmless, and never not at all, unless the machine that holds it is lost for good
//! with its disk: decision 0015 says what that loses.

mod atlas;
pub mod batch;
mod code;
mod config;
pub mod end;
mod error;
mod lately;
pub mod limits;
mod outbox;
mod planted;
mod prospect;
mod rule;
mod wire;

pub use batch::Batch;
pub use config::Config;
pub use error::{Error, Result};
pub use lately::Lately;
pub use outbox::{BatchId, Counts, Outbox, Send, Sizes};
pub use planted::Planted;
pub use prospect::{CrawlId, Prospect};
pub use rule::Costs;
pub use wire::on_the_wire;
