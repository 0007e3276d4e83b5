//! The description of a fault and its remedy, kept apart until they are laid out.

use std::borrow::Cow;
use std::fmt::{self, Display};

use serde::{Deserialize, Serialize};

use super::printable;

/// A fault as people are told it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Explanation {
    /// What failed, on what. May have several lines, none of them indented for looks.
    pub message: String,
    /// What to do next, in one sentence or several lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// An error that may know its remedy.
pub trait Explain: Display {
    /// The next step for the reader, if known.
    fn remedy(&self) -> Option<String> {
        None
    }

    /// The message and the remedy.
    fn explain(&self) -> Explanation {
        Explanation { message: self.to_string(), remedy: self.remedy() }
    }
}

impl Explanation {
    /// An error with a remedy.
    pub fn new(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { message: message.into(), remedy: Some(remedy.into()) }
    }

    /// All lines, with the remedy last.
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        self.message.lines().chain(self.remedy.iter().flat_map(|remedy| remedy.lines()))
    }
}

/// Writes it on one line, for the log.
impl Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<_> = self.lines().map(|line| printable::on_one_line(&unaligned(line))).collect();
        f.write_str(&lines.join("; "))
    }
}

/// The line without the blanks that align what follows a colon.
fn unaligned(line: &str) -> Cow<'_, str> {
    match line.split_once(":  ") {
        Some((before, rest)) => format!("{before}: {}", rest.trim_start()).into(),
        None => line.into(),
    }
}

impl From<String> for Explanation {
    fn from(message: String) -> Self {
        Self { message, remedy: None }
    }
}

impl From<&str> for Explanation {
    fn from(message: &str) -> Self {
        message.to_owned().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_has_it_on_one_line() {
        assert_eq!(Explanation::new("a\nb", "c").to_string(), "a; b; c");
        assert_eq!(Explanation::from("a").to_string(), "a");
        assert_eq!(Explanation::new("a", "b:   c\nd: e").to_string(), "a; b: c; d: e");
    }

    #[test]
    fn explanation_without_remedy_keeps_its_form() {
        let old = r#"{"message":"a"}"#;
        assert_eq!(serde_json::from_str::<Explanation>(old).unwrap(), "a".into());
        assert_eq!(serde_json::to_string(&Explanation::from("a")).unwrap(), old);
    }
}
