//! A visitor who asks one question, keeps every byte of the answer, and does not wait for ever.
//!
//! For tests and demonstrations; a crawler it is not. It follows no redirect and undoes no coding.

use crate::limits::{CONNECT_WAIT_MAX, EXCHANGE_BODY_BYTES_MAX, EXCHANGE_WAIT_MAX};
use crate::server::read_until;
use herodotus_base::limits::HTTP_HEAD_BYTES_MAX;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Instant;

/// A question and its answer, as they were on the wire.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Exchange {
    /// The request, with the empty line that ends it.
    pub request_head: Vec<u8>,
    /// The status line and headers, with the empty line that ends them.
    pub response_head: Vec<u8>,
    /// What followed; `Content-Length` bytes if the head said so.
    pub body: Vec<u8>,
}

impl Exchange {
    /// Zero if the answer did not begin with a status line.
    pub fn status(&self) -> u16 {
        let line = self.response_head.get(..12).and_then(|line| std::str::from_utf8(line).ok());
        line.and_then(|line| line.strip_prefix("HTTP/1.")?.get(2..)?.parse().ok()).unwrap_or(0)
    }

    /// The first header of this name, in whatever case.
    pub fn header(&self, name: &str) -> Option<&str> {
        header(&self.response_head, name)
    }
}

/// Asks the server at an address for a path of a host.
pub fn get(addr: SocketAddr, host: &str, path: &str) -> io::Result<Exchange> {
    get_with(addr, host, path, &[])
}

/// The same, with further headers.
pub fn get_with(addr: SocketAddr, host: &str, path: &str, headers: &[(&str, &str)]) -> io::Result<Exchange> {
    let broken = |text: &str| text.chars().any(char::is_control);
    let spaced = |text: &str| text.is_empty() || broken(text) || text.contains(' ');
    if spaced(host) || spaced(path) || headers.iter().any(|(name, value)| spaced(name) || broken(value)) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "a space or control character would bend the request"));
    }
    let mut request =
        format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: herodotus-testweb\r\nAccept: */*\r\n");
    for (name, value) in headers {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    request.push_str("Connection: close\r\n\r\n");

    let end = Instant::now() + EXCHANGE_WAIT_MAX;
    let mut stream = TcpStream::connect_timeout(&addr, CONNECT_WAIT_MAX)?;
    stream.set_nodelay(true)?;
    stream.set_write_timeout(Some(EXCHANGE_WAIT_MAX))?;
    stream.write_all(request.as_bytes())?;
    let (response_head, body) = receive(&stream, end)?;
    Ok(Exchange { request_head: request.into_bytes(), response_head, body })
}

fn receive(stream: &TcpStream, end: Instant) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let mut head = Vec::new();
    let mut searched: usize = 0;
    let mut body = loop {
        let found = head.get(searched..).unwrap_or_default().windows(4).position(|four| four == b"\r\n\r\n");
        if let Some(at) = found {
            break head.split_off(searched + at + 4);
        }
        if head.len() > HTTP_HEAD_BYTES_MAX {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the response's head is too long"));
        }
        searched = head.len().saturating_sub(3);
        if !receive_some(stream, &mut head, end)? {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the response's head is cut off"));
        }
    };
    let bodiless = [" 204", " 304"].iter().any(|status| head.get(8..12) == Some(status.as_bytes()));
    let length = if bodiless { Some(0) } else { header(&head, "Content-Length").and_then(|text| text.parse().ok()) };
    while length.is_none_or(|length: usize| body.len() < length) {
        if body.len() > EXCHANGE_BODY_BYTES_MAX {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the response's body is too long"));
        }
        if !receive_some(stream, &mut body, end)? {
            match length {
                Some(_) => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the response's body is cut off")),
                None => break,
            }
        }
    }
    // Nothing was asked that could be answered behind the body.
    body.truncate(length.unwrap_or(usize::MAX));
    Ok((head, body))
}

/// False at the end of what the server has to say.
fn receive_some(stream: &TcpStream, bytes: &mut Vec<u8>, end: Instant) -> io::Result<bool> {
    let mut piece = [0; 16 * 1024];
    match read_until(stream, &mut piece, end)? {
        Some(count) => {
            bytes.extend_from_slice(piece.get(..count).unwrap_or_default());
            Ok(count > 0)
        }
        None => Err(io::Error::new(io::ErrorKind::TimedOut, "the server did not answer in time")),
    }
}

fn header<'a>(head: &'a [u8], name: &str) -> Option<&'a str> {
    let lines = std::str::from_utf8(head).ok()?.split("\r\n").skip(1);
    let pairs = lines.filter_map(|line| line.split_once(':'));
    pairs.into_iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
}
