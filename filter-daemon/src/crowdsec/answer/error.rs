//! Why an answer of LAPI cannot be used, and what to do about it.

use std::io;

use serde_json::error::Category;
use thiserror::Error;

use crate::text::{Explain, printable};

/// The reason why there are no decisions to read.
#[derive(Debug, Error)]
pub enum AnswerError {
    /// The connection or the fetch failed.
    #[error("cannot read CrowdSec's answer: {0}")]
    Read(io::Error),
    /// The body has no bytes.
    #[error("CrowdSec's answer is empty")]
    Empty,
    /// Another program answered, or a proxy.
    #[error("CrowdSec's answer is not a JSON object: it begins with {0}")]
    NotAnObject(String),
    /// The connection ended early, or LAPI stopped.
    #[error("CrowdSec's answer is cut: it ends in the middle")]
    Cut,
    /// The JSON has a fault, or a field has another type.
    #[error("CrowdSec's answer is malformed: {}", printable::sentence(.0))]
    Malformed(String),
    /// LAPI sent a message instead.
    #[error("CrowdSec sent no decisions, but the message {}", printable::word(.0))]
    Message(String),
    /// The object has neither `new` nor `deleted`, but these fields.
    #[error("CrowdSec's answer has neither `new` nor `deleted`{}", instead(.0))]
    NoList(Vec<String>),
    /// The answer has more new decisions than this.
    #[error("CrowdSec's answer has more than {0} decisions")]
    TooMany(usize),
}

impl AnswerError {
    /// The error for an answer that begins with these bytes and is no object.
    pub(super) fn begins_with(bytes: &[u8]) -> Self {
        let line = bytes.split(|byte| matches!(byte, b'\r' | b'\n')).next().unwrap_or_default();
        Self::NotAnObject(printable::bytes(line))
    }

    /// The error for a fault that the parser found.
    pub(super) fn of(error: serde_json::Error) -> Self {
        match error.classify() {
            Category::Io => Self::Read(error.into()),
            Category::Eof => Self::Cut,
            Category::Syntax | Category::Data => Self::Malformed(error.to_string()),
        }
    }
}

impl Explain for AnswerError {
    fn remedy(&self) -> Option<String> {
        const WRONG_SERVER: &str =
            "check that `api_url` is the address of CrowdSec's local API, such as http://127.0.0.1:8080";
        const CHECK_LOG: &str = "see what CrowdSec logs: journalctl -u crowdsec";
        Some(match self {
            Self::Read(_) => return None,
            Self::Empty | Self::Cut => CHECK_LOG.to_owned(),
            Self::NotAnObject(_) | Self::Malformed(_) | Self::NoList(_) => WRONG_SERVER.to_owned(),
            Self::Message(_) => {
                "check that CrowdSec knows the key of filterd: cscli bouncers list".to_owned()
            }
            Self::TooMany(_) => {
                "subscribe to fewer blocklists, or name the `origins` that you want under `crowdsec`"
                    .to_owned()
            }
        })
    }
}

/// What was seen instead of decisions.
fn instead(names: &[String]) -> String {
    let names: Vec<_> = names.iter().map(|name| printable::word(name)).collect();
    if names.is_empty() { String::new() } else { format!(", but {}", names.join(", ")) }
}
