//! What a request asks for, read strictly: what cannot be read is an error that says what would be.

use crate::answer::Trouble;
use crate::wayback::full_url;
use axum::extract::{FromRequestParts, Path, Query};
use herodotus_base::limits::URL_BYTES_MAX;
use http::request::Parts;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// The query of a request. What it holds beyond that is ignored.
pub(super) struct Asked<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Asked<T> {
    type Rejection = Trouble;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Trouble> {
        match Query::from_request_parts(parts, state).await {
            Ok(Query(asked)) => Ok(Self(asked)),
            Err(rejection) => Err(Trouble::Asked(rejection.body_text())),
        }
    }
}

/// A name in the path.
pub(super) struct Named(pub(super) String);

impl<S: Send + Sync> FromRequestParts<S> for Named {
    type Rejection = Trouble;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Trouble> {
        match Path::from_request_parts(parts, state).await {
            Ok(Path(name)) => Ok(Self(name)),
            Err(rejection) => Err(Trouble::Asked(rejection.body_text())),
        }
    }
}

/// Reads the URL that is asked about as people write it.
pub(super) fn url(text: &str) -> Result<String, Trouble> {
    if text.len() > URL_BYTES_MAX {
        return Err(Trouble::Asked(format!("that is longer than any URL ({URL_BYTES_MAX} bytes)")));
    }
    full_url(text).ok_or_else(|| Trouble::Asked("name a URL, as in url=https://example.org/".to_owned()))
}

#[derive(Deserialize)]
pub(super) struct SearchAsk {
    pub(super) q: String,
    pub(super) from: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct VersionsAsk {
    pub(super) url: String,
    pub(super) year: Option<i32>,
    pub(super) before: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct VersionAsk {
    pub(super) url: String,
    pub(super) at: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct DifferenceAsk {
    pub(super) url: String,
    pub(super) from: Option<String>,
    pub(super) to: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct RingAsk {
    pub(super) url: String,
}

#[derive(Deserialize)]
pub(super) struct HostAsk {
    pub(super) host: String,
    #[serde(default)]
    pub(super) path: String,
    pub(super) from: Option<String>,
}
