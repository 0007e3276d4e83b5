//! A site that publishes a list, until it fails: what it answers changes while a story goes on.

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rustls::ServerConfig;

use crate::web::{Asked, Web, Where};
use crate::{GATEWAY, Net};

/// Where a list may have gone.
const ELSEWHERE: &str = "/elsewhere.txt";

/// A web server in the peer's namespace.
#[derive(Debug)]
pub struct Site {
    answer: Arc<Mutex<Answer>>,
    web: Web,
}

#[derive(Debug)]
enum Answer {
    /// This, word for word.
    Words(String),
    /// The same, to whoever comes there, which others are told.
    Elsewhere(String),
    /// Nothing, for longer than anybody waits.
    Silence,
}

impl Site {
    /// One that is up, and has no list yet.
    pub fn up(net: &Net) -> Self {
        Self::at(net, 80, None)
    }

    /// The same over https, with this certificate.
    pub fn up_over_tls(net: &Net, tls: Arc<ServerConfig>) -> Self {
        Self::at(net, 443, Some(tls))
    }

    fn at(net: &Net, port: u16, tls: Option<Arc<ServerConfig>>) -> Self {
        let answer = Arc::new(Mutex::new(Answer::Words(status("504 Gateway Timeout"))));
        let says = answer.clone();
        let tell = move |asked: &Asked, caller: &mut dyn Write| {
            let words = match &*says.lock().expect("nobody panics here") {
                Answer::Elsewhere(_) if asked.path != ELSEWHERE => {
                    Some(format!("HTTP/1.1 302 Found\r\nLocation: {ELSEWHERE}\r\nContent-Length: 0\r\n\r\n"))
                }
                Answer::Words(words) | Answer::Elsewhere(words) => Some(words.clone()),
                Answer::Silence => None,
            };
            let Some(words) = words else { return thread::sleep(Duration::from_secs(600)) };
            let has = words.lines().find_map(|line| line.strip_prefix("ETag: "));
            let is_same = has.is_some() && asked.header("if-none-match") == has;
            let words = if is_same { status("304 Not Modified") } else { words };
            // Whoever has hung up meanwhile hears nothing.
            _ = caller.write_all(words.as_bytes());
        };
        let at = format!("{GATEWAY}:{port}");
        let web = Web::serve(Where { namespace: net.peer(), at: &at, tls }, tell);
        Self { answer, web }
    }

    /// The list's keys in a configuration, but for its name.
    pub fn keys() -> String {
        format!("url: 'http://{GATEWAY}/list.txt?key=sesame', allow_private: true, refresh: 1h")
    }

    /// It answers this, from the status line on.
    pub fn answers(&self, words: impl Into<String>) {
        *self.answer.lock().expect("nobody panics here") = Answer::Words(words.into());
    }

    /// It answers this status, and nothing else.
    pub fn fails(&self, with: &str) {
        self.answers(status(with));
    }

    /// It takes calls, and says nothing.
    pub fn hangs(&self) {
        *self.answer.lock().expect("nobody panics here") = Answer::Silence;
    }

    /// This is its list.
    pub fn has(&self, list: &str) {
        self.answers(ok(list));
    }

    /// The same, at another place that it leads to.
    pub fn has_elsewhere(&self, list: &str) {
        *self.answer.lock().expect("nobody panics here") = Answer::Elsewhere(ok(list));
    }

    /// The same, with a tag by which it knows what others have already.
    pub fn has_tagged(&self, tag: &str, list: &str) {
        let length = list.len();
        self.answers(format!("HTTP/1.1 200 OK\r\nETag: \"{tag}\"\r\nContent-Length: {length}\r\n\r\n{list}"));
    }

    /// What it was asked since the last time.
    pub fn asked(&self) -> Vec<Asked> {
        self.web.asked()
    }
}

fn ok(list: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{list}", list.len())
}

fn status(status: &str) -> String {
    format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n")
}
