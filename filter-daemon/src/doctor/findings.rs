//! What checks say: one line each, how bad it is, and the command that mends it.

use serde::Serialize;

use crate::text::Explanation;

/// How bad something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Health {
    /// As it should be.
    Ok,
    /// filterd works, but slower, for a shorter time or for fewer packets than it could; or somebody should know.
    Warn,
    /// filterd does not start, or does not filter there.
    Fail,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Which check says it.
    pub check: &'static str,
    /// The interface that it is about, if it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// How bad it is.
    pub health: Health,
    /// What was found.
    pub message: String,
    /// What mends it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// All of them, in the order in which they were found.
#[derive(Debug, Default)]
pub struct Findings {
    told: Vec<Finding>,
    /// What could not be seen by whoever looks.
    unseen: Vec<String>,
}

impl Findings {
    /// All is well.
    pub fn ok(&mut self, check: &'static str, message: impl Into<String>) {
        self.say(check, None, Health::Ok, message.into(), None);
    }

    /// Worth knowing.
    pub fn warn(&mut self, check: &'static str, message: impl Into<String>, remedy: Option<String>) {
        self.say(check, None, Health::Warn, message.into(), remedy);
    }

    /// It does not work like this.
    pub fn fail(&mut self, check: &'static str, message: impl Into<String>, remedy: Option<String>) {
        self.say(check, None, Health::Fail, message.into(), remedy);
    }

    /// Something about an interface.
    pub fn of(
        &mut self,
        interface: &str,
        check: &'static str,
        health: Health,
        message: impl Into<String>,
        remedy: Option<String>,
    ) {
        self.say(check, Some(interface.to_owned()), health, message.into(), remedy);
    }

    /// Could not be seen by whoever looks; root would.
    pub fn could_not_see(&mut self, what: impl Into<String>) {
        self.unseen.push(what.into());
    }

    /// What could not be seen is one line, since one command mends it.
    pub fn unseen(&mut self) {
        if self.unseen.is_empty() {
            return;
        }
        let message = format!("not checked without root: {}", std::mem::take(&mut self.unseen).join(", "));
        self.warn("permission", message, Some("sudo filterd doctor".to_owned()));
    }

    /// All of them.
    pub fn all(&self) -> &[Finding] {
        &self.told
    }

    /// How many are as bad as that.
    pub fn count(&self, health: Health) -> usize {
        self.told.iter().filter(|finding| finding.health == health).count()
    }

    fn say(
        &mut self,
        check: &'static str,
        interface: Option<String>,
        health: Health,
        message: String,
        remedy: Option<String>,
    ) {
        self.told.push(Finding { check, interface, health, message, remedy });
    }
}

/// Message and remedy of an error, which may have several lines.
pub fn told(error: &Explanation) -> (String, Option<String>) {
    (error.message.clone(), error.remedy.clone())
}

/// A size as people read it.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..0x10_0000 => format!("{} KiB", bytes >> 10),
        0x10_0000..0x2_8000_0000 => format!("{} MiB", bytes >> 20),
        _ => format!("{} GiB", bytes >> 30),
    }
}
