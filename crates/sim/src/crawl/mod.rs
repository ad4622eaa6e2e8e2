//! Who fetches which page when many machines crawl together: a small model of discrete events that asks the questions of Loo, Cooper and Krishnamurthy,
//! "Distributed Web Crawling over DHTs", of our own strategies too. It is **not** the frontier, the ring or the link
//! exchange of the other crates; it counts what their rules would cost. It promises the same events for the same options, every page at most once, and no
//! host asked sooner than its rate allows. What is assumed:
//!
//! - **Machines** have some threads, a link of one speed each way on which everything stands in line, and a time to handle a page
//!   that differs between machines (log-normal). They do not fail, and no message is lost.
//! - **Places** are random points of a ring, one for each machine, so that arcs are as uneven as those of any such ring without virtual nodes.
//! - **The web** is drawn from the seed ([`Web`]): sizes of hosts by Zipf's law; on a page four children in the tree of its host, links of navigation, links to
//!   anything of the host, links elsewhere. Every page can be reached from the seed page. Nothing changes while it is crawled.
//! - **Links** found are sent every second, in one message to each machine, as so many bytes a link with everything counted. A link that this
//!   machine sent lately is not sent again (a table of bounded size). Links between two places of one machine cost nothing.
//! - **Lookups** cost ½·log2 N questions one after the other, unless the machine spoke lately with the one it looks for.
//! - **Politeness** is one rate for a host in the whole ring, granted in order of asking by the owner of the host's first place; a machine that is not the owner
//!   pays a lease now and then. It holds for the times that the site's server sees. robots.txt is left out.
//! - **As in the paper** ([`Options::paper`]): links go straight to whoever fetches, nothing is archived, no host has a rate, a link is 750 bytes.
//!   **Ours**: links go to the owner of the URL's record, which hands the visit on if another machine is to fetch, and a page that was fetched elsewhere is sent to its place.

mod draw;
mod host;
mod machine;
mod model;
mod options;
mod report;
mod ring;
mod web;

pub use draw::{draw, draw_nearness};
pub use model::run;
pub use options::{Options, Strategy, Workload};
pub use report::{Report, Traffic};
