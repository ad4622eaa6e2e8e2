//! The least HTTP client that will do: one request a connection.

use serde_json::Value;
use std::net::SocketAddr;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }
}

pub(crate) async fn send(to: SocketAddr, method: &str, target: &str, headers: &str, body: &str) -> Answer {
    let mut stream = request(to, method, target, &format!("{headers}Connection: close\r\n"), body).await;
    let mut answer = head(&mut stream).await;
    stream.read_to_end(&mut answer.body).await.unwrap();
    answer
}

async fn request(to: SocketAddr, method: &str, target: &str, headers: &str, body: &str) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(to).await.unwrap();
    let length = body.len();
    let head = format!("{method} {target} HTTP/1.1\r\nHost: {to}\r\nContent-Length: {length}\r\n{headers}\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(body.as_bytes()).await.unwrap();
    BufReader::new(stream)
}

async fn head(stream: &mut BufReader<TcpStream>) -> Answer {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        assert!(stream.read_line(&mut line).await.unwrap() > 0, "it ended within its head");
        if line.trim().is_empty() {
            break;
        }
        lines.push(line.trim().to_owned());
    }
    let status = lines[0].split(' ').nth(1).unwrap().parse().unwrap();
    let header =
        |line: &String| line.split_once(':').map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()));
    Answer { status, headers: lines.iter().skip(1).filter_map(header).collect(), body: Vec::new() }
}

/// Events as they come. Sizes of chunks and blank lines are passed over: the lines of events have names.
pub(crate) struct Events {
    pub(crate) stream: BufReader<TcpStream>,
}

pub(crate) async fn watch(to: SocketAddr, target: &str) -> Result<Events, Answer> {
    let mut stream = request(to, "GET", target, "", "").await;
    let mut answer = head(&mut stream).await;
    if answer.status != 200 {
        let length = answer.header("content-length").unwrap().parse().unwrap();
        answer.body.resize(length, 0);
        stream.read_exact(&mut answer.body).await.unwrap();
        return Err(answer);
    }
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    Ok(Events { stream })
}

impl Events {
    /// The name of the next event, and its data.
    pub(crate) async fn next(&mut self) -> (String, String) {
        let mut name = None;
        loop {
            let mut line = String::new();
            assert!(self.stream.read_line(&mut line).await.unwrap() > 0, "the news ended");
            if let Some(event) = line.strip_prefix("event: ") {
                name = Some(event.trim().to_owned());
            } else if let Some(data) = line.strip_prefix("data: ") {
                return (name.unwrap(), data.trim().to_owned());
            }
        }
    }
}
