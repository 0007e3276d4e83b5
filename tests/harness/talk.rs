//! One connection to the control socket that stays open: for stories that ask thousands of times.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

/// A client that speaks JSON lines.
#[derive(Debug)]
pub struct Talk(BufReader<UnixStream>);

impl Talk {
    /// Connects.
    pub fn to(socket: &Path) -> Self {
        let stream = UnixStream::connect(socket).expect("filterd listens");
        // No request of a story takes so long on a machine that still works.
        stream.set_read_timeout(Some(Duration::from_secs(120))).expect("a timeout can be set");
        Self(BufReader::new(stream))
    }

    /// Asks, and returns the line of the answer.
    #[track_caller]
    pub fn ask(&mut self, method: &str, parameters: &Value) -> Value {
        let request = json!({ "method": format!("io.filterd.{method}"), "parameters": parameters });
        writeln!(self.0.get_mut(), "{request}").expect("filterd reads");
        let mut line = String::new();
        self.0.read_line(&mut line).expect("filterd answers");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("no JSON ({error}): {line:?}"))
    }

    /// Adds one target to a list.
    #[track_caller]
    pub fn add(&mut self, target: &str, list: &str) -> Value {
        self.ask("Add", &json!({ "targets": [target], "list": list }))
    }

    /// Removes one target.
    #[track_caller]
    pub fn remove(&mut self, target: &str) -> Value {
        self.ask("Remove", &json!({ "targets": [target] }))
    }
}

/// Was the answer an error?
pub fn is_error(answer: &Value) -> bool {
    answer.get("error").is_some()
}
