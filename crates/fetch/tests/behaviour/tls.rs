//! TLS: who is believed, and what each doubt is called.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use crate::authority;
use crate::common;

use authority::{Authority, expired, not_yet_valid, self_signed};
use common::{Server, get, read_request};
use herodotus_fetch::{Config, Deadlines, Failure, Fetcher, Protocol, Roots, TlsFailure, Truncated};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio_rustls::TlsAcceptor;

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";

/// Answers every request after a handshake.
async fn serve(acceptor: TlsAcceptor) -> Server {
    Server::start(move |_, stream| {
        let acceptor = acceptor.clone();
        async move {
            // A client that does not believe us leaves in the middle.
            let Ok(mut stream) = acceptor.accept(stream).await else { return };
            while read_request(&mut stream).await.is_some() {
                stream.write_all(ANSWER).await.unwrap();
                stream.flush().await.unwrap();
            }
        }
    })
    .await
}

fn fetcher(server: &Server, authority: &Authority) -> Fetcher {
    Fetcher::new(Config { roots: Roots::Only(vec![authority.root.clone()]), ..server.config() }).unwrap()
}

#[tokio::test]
async fn a_page_comes_over_tls_and_the_connection_is_used_again() {
    let authority = Authority::new("friend");
    let server = serve(authority.acceptor("a.test", &["http/1.1"], |_| {})).await;
    let fetcher = fetcher(&server, &authority);
    for nth in 0..3 {
        let (result, record) = get(&fetcher, "https://a.test/").await;
        let exchange = result.unwrap();
        assert_eq!((exchange.status, exchange.protocol, exchange.reused), (200, Protocol::Http11, nth > 0));
        let tls = exchange.tls.unwrap();
        assert_eq!(tls.version, "tls/1.3");
        assert!(tls.cipher.starts_with("TLS13_"), "{}", tls.cipher);
        assert_eq!(record.wire, b"hi");
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn each_doubt_has_its_name() {
    let authority = Authority::new("friend");
    let stranger = Authority::new("stranger");
    for (acceptor, want) in [
        (authority.acceptor("a.test", &[], expired), TlsFailure::Expired),
        (authority.acceptor("a.test", &[], not_yet_valid), TlsFailure::NotYetValid),
        (authority.acceptor("b.test", &[], |_| {}), TlsFailure::WrongName),
        (stranger.acceptor("a.test", &[], |_| {}), TlsFailure::UnknownIssuer),
        (self_signed("a.test"), TlsFailure::UnknownIssuer),
    ] {
        let server = serve(acceptor).await;
        let failure = get(&fetcher(&server, &authority), "https://a.test/").await.0.unwrap_err();
        assert!(matches!(&failure, Failure::Tls(got) if *got == want), "{failure:?}");
        assert!(!failure.is_temporary());
    }
}

#[tokio::test]
async fn what_is_no_tls_server_is_named_too() {
    let authority = Authority::new("friend");
    let plain = Server::start(|_, mut stream| async move {
        stream.write_all(ANSWER).await.unwrap();
        read_request(&mut stream).await;
    })
    .await;
    assert_eq!(get(&fetcher(&plain, &authority), "https://a.test/").await.0.unwrap_err().code(), "tls_handshake");
    let closing = Server::start(|_, stream| async move { drop(stream) }).await;
    assert_eq!(get(&fetcher(&closing, &authority), "https://a.test/").await.0.unwrap_err().code(), "tls_closed");
    let silent = Server::start(|_, stream| async move {
        let _stream = stream;
        std::future::pending::<()>().await;
    })
    .await;
    let deadlines = Deadlines { tls: Duration::from_millis(40), ..Deadlines::default() };
    let config = Config { deadlines, roots: Roots::Only(vec![authority.root.clone()]), ..silent.config() };
    assert_eq!(get(&Fetcher::new(config).unwrap(), "https://a.test/").await.0.unwrap_err().code(), "tls_timeout");
    // Without roots, nothing can be believed, and the reason lies with us.
    let failure = get(&Fetcher::new(silent.config()).unwrap(), "https://a.test/").await.0.unwrap_err();
    assert_eq!(failure.code(), "tls_no_roots");
}

#[tokio::test]
async fn a_connection_that_ends_without_a_farewell_ends_a_body_that_goes_to_the_end_and_no_other() {
    let authority = Authority::new("friend");
    for (said, truncated) in [
        (&b"HTTP/1.1 200 OK\r\n\r\nto the end"[..], None),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nto the end", Some(Truncated::Disconnect)),
    ] {
        let acceptor = authority.acceptor("a.test", &[], |_| {});
        let server = Server::start(move |_, stream| {
            let acceptor = acceptor.clone();
            async move {
                let mut stream = acceptor.accept(stream).await.unwrap();
                read_request(&mut stream).await;
                stream.write_all(said).await.unwrap();
                stream.flush().await.unwrap();
                // The socket alone is closed.
                stream.get_mut().0.shutdown().await.unwrap();
            }
        })
        .await;
        let (result, record) = get(&fetcher(&server, &authority), "https://a.test/").await;
        assert_eq!((result.unwrap().truncated, &record.wire[..]), (truncated, &b"to the end"[..]));
    }
}
