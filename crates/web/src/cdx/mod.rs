//! The CDX server: `GET /cdx?url=…`, with the parameters and the answers of pywb's, and those of OpenWayback's parameters that
//! pywb lacks (`collapse`, `offset`, `resumeKey`). `docs/REPLAY-DIFFERENCES.md` says where the answers differ, and why.
//!
//! Answers stream, whatever their size: a piece is made when the reader has taken the one before, in a thread that is then
//! free again. What a reader holds meanwhile is one piece and a place in the index. When he goes, nothing more is read.

mod collapse;
mod field;
mod filter;
mod lines;
mod output;
mod query;
mod stream;
mod walk;

pub(crate) use output::Output;

use crate::answer::Trouble;
use crate::site::Site;
use crate::tools::{self, Asked};
use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use http::StatusCode;
use lines::Lines;
use query::Query;
use stream::Pieces;

pub(crate) fn router() -> Router<Site> {
    Router::new().route("/cdx", get(serve)).route("/web/cdx", get(serve))
}

async fn serve(State(site): State<Site>, asked: Asked) -> Response {
    match Query::parse(asked.query()) {
        Ok(query) => {
            let answered = async {
                if let Some(key) = &query.exact
                    && let Some(sent) = asked.sent_for_key(&site, key).await?
                {
                    return Ok(sent);
                }
                answer(&site, query).await
            };
            answered.await.unwrap_or_else(refuse)
        }
        Err(sentence) => refuse(Trouble::Asked(sentence)),
    }
}

/// All versions of one URL, oldest first. `None`: there are none.
pub(crate) async fn versions(site: &Site, url: &str, output: Output) -> Result<Option<Response>, Trouble> {
    let (lines, piece) = first_piece(site, Lines::new(Query::of_versions(url, output))).await?;
    Ok((!piece.is_empty()).then(|| respond(site, lines, piece)))
}

async fn answer(site: &Site, query: Query) -> Result<Response, Trouble> {
    let (lines, piece) = first_piece(site, Lines::new(query)).await?;
    Ok(respond(site, lines, piece))
}

/// Reads until there is something to say: until then, what is wrong can still be said instead.
async fn first_piece(site: &Site, lines: Lines) -> Result<(Lines, String), Trouble> {
    let (mut lines, mut piece) = stream::next(site, lines).await?;
    while piece.is_empty() && !lines.is_done() {
        (lines, piece) = stream::next(site, lines).await?;
    }
    Ok((lines, piece))
}

fn respond(site: &Site, lines: Lines, piece: String) -> Response {
    let content_type = lines.content_type();
    if lines.is_done() {
        return tools::answer(StatusCode::OK, content_type, piece);
    }
    tools::answer(StatusCode::OK, content_type, axum::body::Body::new(Pieces::new(site.clone(), lines, piece)))
}

/// As pywb says what is wrong.
fn refuse(trouble: Trouble) -> Response {
    let body = serde_json::json!({ "message": trouble.sentence() }).to_string();
    let mut response = tools::answer(trouble.status(), "application/json; charset=utf-8", body);
    response.headers_mut().extend(trouble.retry_after().map(|after| (http::header::RETRY_AFTER, after)));
    response
}
