//! What went wrong, as a calm page that says what to do next. In the API and in replay the same troubles have other forms.

use super::icons;
use super::layout::{self, Shell};
use crate::answer::Trouble;
use crate::archive::Away;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::RETRY_AFTER;
use maud::{Markup, html};

/// A [`Trouble`] that a person is told of.
#[derive(Debug)]
pub(crate) struct TroublePage(pub(crate) Trouble);

impl From<Trouble> for TroublePage {
    fn from(trouble: Trouble) -> Self {
        Self(trouble)
    }
}

impl IntoResponse for TroublePage {
    fn into_response(self) -> Response {
        let Self(trouble) = self;
        let (title, next) = words(&trouble);
        let mut response = page(trouble.status(), title, &trouble.sentence(), &next);
        response.headers_mut().extend(trouble.retry_after().map(|after| (RETRY_AFTER, after)));
        response
    }
}

/// For every path that leads nowhere.
pub(crate) fn no_such_page(path: &str) -> Response {
    let shown: String = path.chars().take(200).collect();
    let next = html! {
        p { "Looking for an archived page? Type its address above, or go to the " a href="/" { "first page" } "." }
    };
    page(StatusCode::NOT_FOUND, "There is no such page", &format!("This archive has nothing at {shown}."), &next)
}

fn words(trouble: &Trouble) -> (&'static str, Markup) {
    match trouble {
        Trouble::Asked(_) => (
            "That could not be understood",
            html! { p { "Go " a href="/" { "back to the start" } ", or type an address above." } },
        ),
        Trouble::NotFound(_) => {
            ("Not found", html! { p { "Type another address above, or go to the " a href="/" { "first page" } "." } })
        }
        Trouble::Forbidden(_) => (
            "This needs leave",
            html! {
                p { "Whoever runs the archive finds its token in the file " code { "token" } " of its directory. Go back, and give it in the form." }
            },
        ),
        Trouble::Away(Away::Silent { .. }) | Trouble::NotHere => (
            "Nobody who holds this answered",
            html! {
                p {
                    "Nothing is lost: it lies on other machines of this ring, which cannot be reached just now. " a href="" { "Try again" }
                    " in a moment, or see " a href="/ring/health" { "how the ring is" } "."
                }
            },
        ),
        Trouble::Away(Away::Unsure) => (
            "Whether there is anything cannot be said",
            html! {
                p {
                    "Some machines of this ring have fallen silent, and may have what the others have not. " a href="" { "Try again" }
                    " in a moment: within a quarter of an hour they are back, or given up. See " a href="/ring/health" { "how the ring is" } "."
                }
            },
        ),
        Trouble::Away(Away::False { .. }) => (
            "What came was not what was archived",
            html! {
                p {
                    "Every copy that could be reached has other bytes than were archived, so that none of them is shown. "
                    a href="" { "Try again" } " when more machines are there, or see " a href="/ring/health" { "how the ring is" } "."
                }
            },
        ),
        Trouble::Busy => (
            "Busy for a moment",
            html! { p { "Many are reading at once. Nothing is wrong: " a href="" { "try again" } "." } },
        ),
        Trouble::Unanswered(_) => (
            "The ring did not answer",
            html! { p { "Nothing is lost: " a href="" { "try again" } ", or see how " a href="/ring" { "the ring" } " stands." } },
        ),
        Trouble::Store(_) => (
            "The archive could not be read",
            html! {
                p { "Nothing was changed. See what is damaged, and what is not, with:" }
                pre { code { "herodotus verify" } }
            },
        ),
        Trouble::Ours(_) => (
            "That is our mistake",
            html! { p { "Nothing was changed. " a href="" { "Try again" } "; if it stays, please report the sentence above." } },
        ),
    }
}

fn page(status: StatusCode, title: &str, sentence: &str, next: &Markup) -> Response {
    let main = html! {
        section.trouble {
            (icons::mark())
            p.trouble-code { (status.as_u16()) }
            h1 { (title) }
            p.trouble-words { (sentence) }
            (next)
        }
    };
    layout::page(status, &Shell { title, ..Shell::default() }, &main)
}
