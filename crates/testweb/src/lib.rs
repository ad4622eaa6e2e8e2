//! A web to practise on: museums, towns and almanacs that never were, served on loopback, whose every page, link,
//! picture and change follows from a seed.
//!
//! [`Web`] is the world and the truth about it. Nothing in it is stored: a page is computed from the seed, its host,
//! its number and the round, so two million pages cost no more memory than two. A round is a day; between rounds
//! pages appear, are revised, alternate and disappear, each at its own known pace. [`Server`] shows the world over
//! HTTP, and [`get`] is a visitor who keeps the exact bytes of what was said.
//!
//! What may be relied on:
//! - the same [`Config`] gives the same bytes, on every machine;
//! - [`Web::changed`] is exact: it is true if and only if the status or the body differ;
//! - every page that exists can be reached by links from the first host's front page at the same round;
//! - every link leads somewhere whose [`Fate`] is known.
//!
//! ```
//! use herodotus_testweb::{Config, Server, Web, get};
//!
//! let web = Web::new(Config { seed: 7, hosts: 3, pages_per_host: 100, ..Config::default() });
//! let server = Server::start(web)?;
//! let host = server.web().hosts().next().unwrap_or_default();
//! let before = get(server.addr(), &host, "/")?;
//! server.set_round(1);
//! let after = get(server.addr(), &host, "/")?;
//! assert!(before.body != after.body && server.web().changed(&host, "/", 0, 1));
//! # std::io::Result::Ok(())
//! ```
//!
//! This is the honest web. Everything here reads and writes HTTP by its own code, not by that of the crates it tests,
//! so that a shared mistake cannot hide. [`hostile`] is the other one.

mod client;
mod date;
mod dice;
mod furniture;
pub mod hostile;
mod life;
mod limits;
mod line;
mod listener;
mod log;
mod page;
mod picture;
mod place;
mod prose;
mod request;
mod response;
mod server;
mod sheet;
mod web;
#[rustfmt::skip] // Lists of words read better in lines than in columns.
mod words;

pub use client::{Exchange, get, get_with};
pub use date::round_time;
pub use life::{Fate, Life, Rhythm};
pub use log::Request;
pub use response::Response;
pub use server::Server;
pub use web::{Busy, Config, Web};
