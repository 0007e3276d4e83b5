//! Requests to a LAPI in a namespace, over HTTP or TLS.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};

use crate::SOON;
use crate::namespace::Entrance;

/// A client of one LAPI.
#[derive(Debug)]
pub struct Exchange {
    entrance: Entrance,
    port: u16,
    tls: Option<Arc<ClientConfig>>,
}

impl Exchange {
    pub fn new(entrance: Entrance, port: u16, tls: Option<Arc<ClientConfig>>) -> Self {
        Self { entrance, port, tls }
    }

    pub fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://127.0.0.1:{}", self.port)
    }

    /// Returns the status and the body.
    #[track_caller]
    pub fn ask(&self, method: &str, path: &str, headers: &str, body: &str) -> (u16, String) {
        let answer = self.try_ask(method, path, headers, body);
        answer.unwrap_or_else(|| panic!("LAPI does not answer {method} {path}"))
    }

    /// None if LAPI does not answer.
    pub fn try_ask(&self, method: &str, path: &str, headers: &str, body: &str) -> Option<(u16, String)> {
        // After an answer to HTTP/1.0 the server hangs up.
        let request = format!(
            "{method} {path} HTTP/1.0\r\nHost: 127.0.0.1:{}\r\nUser-Agent: tests/v1\r\n{headers}\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.port,
            body.len()
        );
        let stream = self.entrance.inside(|| TcpStream::connect(("127.0.0.1", self.port))).ok()?;
        stream.set_read_timeout(Some(4 * SOON)).ok()?;
        let answer = match &self.tls {
            None => converse(stream, &request),
            Some(tls) => {
                let name = ServerName::try_from("127.0.0.1").expect("it is an address");
                let connection = ClientConnection::new(tls.clone(), name).expect("a client needs no more");
                converse(StreamOwned::new(connection, stream), &request)
            }
        }?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1)?.parse().ok()?;
        Some((status, body.to_owned()))
    }
}

fn converse(mut stream: impl Read + Write, request: &str) -> Option<String> {
    stream.write_all(request.as_bytes()).ok()?;
    stream.flush().ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer)
}

/// A value as queries have it.
pub fn quoted(value: &str) -> String {
    value.bytes().fold(String::new(), |mut quoted, byte| {
        if byte.is_ascii_alphanumeric() {
            quoted.push(byte.into());
        } else {
            write!(quoted, "%{byte:02X}").expect("it is text");
        }
        quoted
    })
}
