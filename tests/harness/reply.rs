//! What a verb answered: its exit code, and what it wrote.

use crate::limited::LimitedCommand;
use std::borrow::Borrow;
use std::process::Command;

use serde_json::Value;

/// The end of a program, with methods that say what it should have been.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The whole command line, for messages.
    asked: String,
    /// The exit code; none if a signal ended it.
    code: Option<i32>,
    /// Standard output.
    pub output: String,
    /// Standard error.
    pub complaint: String,
}

impl Reply {
    /// Runs the command to its end.
    pub fn of(command: &mut Command) -> Self {
        let asked = words(command);
        let done = command.limited_output().unwrap_or_else(|error| panic!("cannot run {asked}: {error}"));
        Self {
            asked,
            code: done.status.code(),
            output: String::from_utf8_lossy(&done.stdout).into_owned(),
            complaint: String::from_utf8_lossy(&done.stderr).into_owned(),
        }
    }

    /// It exits with this code.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert!(self.code == Some(code), "should exit with {code}, but {self}");
        self
    }

    /// The exit code; none if a signal ended it.
    pub fn code(&self) -> Option<i32> {
        self.code
    }

    /// Does it do what was asked?
    pub fn is_success(&self) -> bool {
        self.code == Some(0)
    }

    /// It does what was asked.
    #[track_caller]
    pub fn succeeds(self) -> Self {
        self.exits(0)
    }

    /// It says this on standard output.
    #[track_caller]
    pub fn says(self, words: &str) -> Self {
        assert!(self.output.contains(words), "should say {words:?}, but {self}");
        self
    }

    /// It does not say this anywhere.
    #[track_caller]
    pub fn is_silent_about(self, words: &str) -> Self {
        let said = self.output.contains(words) || self.complaint.contains(words);
        assert!(!said, "should not say {words:?}, but {self}");
        self
    }

    /// It says nothing on standard output.
    #[track_caller]
    pub fn says_nothing(self) -> Self {
        assert!(self.output.is_empty(), "should say nothing, but {self}");
        self
    }

    /// It says this on standard error.
    #[track_caller]
    pub fn complains(self, words: &str) -> Self {
        assert!(self.complaint.contains(words), "should complain {words:?}, but {self}");
        self
    }

    /// Its standard output as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.output).unwrap_or_else(|error| panic!("no JSON ({error}): {self}"))
    }

    /// Its standard output is JSON that contains this: each field of an object, each element of an array somewhere in the array.
    #[track_caller]
    pub fn has(self, wanted: impl Borrow<Value>) -> Self {
        let wanted = wanted.borrow();
        assert!(contains(&self.json(), wanted), "should have {wanted}, but {self}");
        self
    }

    /// Each line of its standard output as JSON.
    #[track_caller]
    pub fn json_lines(&self) -> Vec<Value> {
        let parse = |line| serde_json::from_str(line);
        let lines: Result<_, _> = self.output.lines().map(parse).collect();
        lines.unwrap_or_else(|error| panic!("no JSON lines ({error}): {self}"))
    }
}

impl std::fmt::Display for Reply {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { asked, code, output, complaint } = self;
        let code = code.map_or("a signal".to_owned(), |code| code.to_string());
        write!(out, "`{asked}` ended with {code}\n-- output:\n{output}\n-- complaint:\n{complaint}")
    }
}

fn contains(found: &Value, wanted: &Value) -> bool {
    match (found, wanted) {
        (Value::Object(found), Value::Object(wanted)) => {
            wanted.iter().all(|(name, wanted)| found.get(name).is_some_and(|found| contains(found, wanted)))
        }
        (Value::Array(found), Value::Array(wanted)) => {
            wanted.iter().all(|wanted| found.iter().any(|found| contains(found, wanted)))
        }
        _ => found == wanted,
    }
}

fn words(command: &Command) -> String {
    let words = command.get_args().map(|word| word.to_string_lossy());
    format!("filterd {}", words.collect::<Vec<_>>().join(" "))
}
