//! The API: everything the pages show, as JSON, under `/api/v1/`; and the news of crawls and of the ring, as Server-Sent Events.
//!
//! `openapi.json` describes it, and a test holds the two together. Answers are the values of [`crate::views`], so that a program
//! sees what a person sees. Errors are `{"error": "a sentence"}`. Who may change something is `guard`'s to say.

mod ask;
mod events;
mod routes;

pub(crate) use routes::router;
