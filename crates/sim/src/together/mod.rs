//! Machines that crawl a small web together, in a simulated world, until they call the crawl complete: the frontier of `herodotus-frontier`, the outbox and the
//! end of a crawl of `herodotus-links`, driven as the node drives them, while messages are lost, doubled and late, machines crash, come back or are
//! lost for good, arcs change hands and people change the crawl.
//!
//! A [`Storm`] leaves it all to chance, a [`Stage`] does what a script says. The web is known ([`Web`]), so that it can be seen whether everything was visited when a crawl is called complete. Modelled and not shown: the ring (who
//! owns what is told, late; only a machine's own neighbours know at once), and the copies of records (what lies on a second machine is taken to be safe, and comes to
//! a new owner before it answers for its arc: `sim::replica` shows that). Two halves of a split ring that each go on alone are not simulated.

mod machine;
mod orders;
mod part;
mod stage;
mod storm;
mod web;

pub use machine::{Body, Machine, Message, Note};
pub use orders::Order;
pub use stage::{Cast, Hold, Parcel, Stage};
pub use storm::{Storm, StormEnd};
pub use web::Web;
