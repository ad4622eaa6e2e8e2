//! Answers that are not a page: redirects, JSON, and what went wrong, said so that the reader knows what to do.

use crate::archive::Away;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, LOCATION};
use http::{HeaderName, StatusCode};

/// Why a request cannot be answered.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// What was asked makes no sense; the text says what would.
    Asked(String),
    NotFound(String),
    /// Writing needs a token or a page of ours.
    Forbidden(String),
    /// Too much at once.
    Busy,
    /// Others in the ring were asked, and it came to nothing; it may go better the next time.
    Unanswered(String),
    /// What was asked for lies on other machines, and could not be had from them.
    Away(Away),
    /// It takes longer than may be waited here. Whoever asks so asks again where it may: no reader is ever told.
    NotHere,
    Store(herodotus_store::Error),
    /// Our mistake.
    Ours(String),
}

impl From<herodotus_store::Error> for Trouble {
    fn from(error: herodotus_store::Error) -> Self {
        // What a large body could not be read for may lie beyond this store.
        let source = match &error {
            herodotus_store::Error::Disk { source, .. } => Some(source),
            herodotus_store::Error::Warc(herodotus_warc::Error::Io(source)) => Some(source),
            _ => None,
        };
        if let Some(away) = source.and_then(away_in) {
            return Self::Away(away);
        }
        Self::Store(error)
    }
}

/// Whether it was other machines that could not give what was read.
pub(crate) fn away_in(error: &std::io::Error) -> Option<Away> {
    let inner = error.get_ref()?;
    if let Some(herodotus_store::Error::Disk { source, .. }) = inner.downcast_ref() {
        return away_in(source);
    }
    inner.downcast_ref().copied()
}

impl Trouble {
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::Asked(_) => StatusCode::BAD_REQUEST,
            Self::NotFound(_) => StatusCode::NOT_FOUND,
            Self::Forbidden(_) => StatusCode::FORBIDDEN,
            Self::Busy | Self::Unanswered(_) | Self::Away(Away::Silent { .. } | Away::Unsure) | Self::NotHere => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            Self::Away(Away::False { .. }) => StatusCode::BAD_GATEWAY,
            Self::Store(_) | Self::Ours(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    pub(crate) fn sentence(&self) -> String {
        match self {
            Self::Asked(text) | Self::NotFound(text) | Self::Forbidden(text) | Self::Unanswered(text) => text.clone(),
            Self::Away(away) => away.to_string(),
            Self::NotHere => "this lies on other machines, which were not asked: try again".to_owned(),
            Self::Busy => "too many requests at once: try again in a moment".to_owned(),
            Self::Store(error) => format!("the archive could not be read: {error}"),
            Self::Ours(error) => format!("something is wrong with this program: {error}"),
        }
    }
}

/// For what a page shows beside what was asked for: what nobody is sure of is not there.
pub(crate) fn if_sure<T: Default>(found: Result<T, Trouble>) -> Result<T, Trouble> {
    match found {
        Err(Trouble::Away(Away::Unsure)) => Ok(T::default()),
        other => other,
    }
}

impl Trouble {
    /// When it is worth another try.
    pub(crate) fn retry_after(&self) -> Option<HeaderValue> {
        match self {
            Self::Busy | Self::NotHere => Some(HeaderValue::from_static("2")),
            // A machine that is gone is found dead, and another asked, within some seconds.
            Self::Away(Away::Silent { .. } | Away::Unsure) => Some(HeaderValue::from_static("10")),
            _ => None,
        }
    }
}

/// In the API's form, which a person can read too. Pages for people turn a [`Trouble`] into a page instead.
impl IntoResponse for Trouble {
    fn into_response(self) -> Response {
        let body = serde_json::json!({ "error": self.sentence() });
        let mut response = json(&body);
        *response.status_mut() = self.status();
        response.headers_mut().extend(self.retry_after().map(|after| (http::header::RETRY_AFTER, after)));
        response
    }
}

/// A header's value from text that may hold anything: what no header may hold is percent-encoded.
pub(crate) fn value(text: &str) -> HeaderValue {
    if let Ok(value) = HeaderValue::from_str(text)
        && text.is_ascii()
    {
        return value;
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for byte in text.bytes() {
        match byte {
            b' '..=b'~' => safe.push(char::from(byte)),
            _ => safe.push_str(&format!("%{byte:02X}")),
        }
    }
    HeaderValue::from_str(&safe).unwrap_or(HeaderValue::from_static(""))
}

pub(crate) fn redirect(status: StatusCode, to: &str) -> Response {
    with(status, Body::empty(), &[(LOCATION, value(to)), (CACHE_CONTROL, HeaderValue::from_static("no-cache"))])
}

pub(crate) fn with(status: StatusCode, body: Body, headers: &[(HeaderName, HeaderValue)]) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    for (name, value) in headers {
        response.headers_mut().insert(name.clone(), value.clone());
    }
    response
}

pub(crate) fn text(status: StatusCode, content_type: &'static str, text: impl Into<Body>) -> Response {
    with(status, text.into(), &[(CONTENT_TYPE, HeaderValue::from_static(content_type))])
}

pub(crate) fn json(value: &impl serde::Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(bytes) => text(StatusCode::OK, "application/json", bytes),
        Err(error) => text(StatusCode::INTERNAL_SERVER_ERROR, "text/plain; charset=utf-8", error.to_string()),
    }
}
