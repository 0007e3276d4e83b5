//! The results of checks: one line each, with a severity and the command that fixes it.

use serde::Serialize;

use crate::text::Explanation;

/// How severe a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Health {
    Ok,
    /// filterd works, but slower, for a shorter time or for fewer packets than possible. Also used for facts
    /// worth knowing.
    Warn,
    /// filterd does not start, or does not filter there.
    Fail,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub check: &'static str,
    /// The interface, if the finding is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    pub health: Health,
    pub message: String,
    /// The command that fixes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// All findings, in the order of the checks.
#[derive(Debug, Default)]
pub struct Findings {
    told: Vec<Finding>,
    /// Facts that this user may not see.
    unseen: Vec<String>,
}

impl Findings {
    pub fn ok(&mut self, check: &'static str, message: impl Into<String>) {
        self.say(check, None, Health::Ok, message.into(), None);
    }

    pub fn warn(&mut self, check: &'static str, message: impl Into<String>, remedy: Option<String>) {
        self.say(check, None, Health::Warn, message.into(), remedy);
    }

    pub fn fail(&mut self, check: &'static str, message: impl Into<String>, remedy: Option<String>) {
        self.say(check, None, Health::Fail, message.into(), remedy);
    }

    /// Adds a finding about an interface.
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

    /// Records a fact that this user may not see, but root may.
    pub fn could_not_see(&mut self, what: impl Into<String>) {
        self.unseen.push(what.into());
    }

    /// Reports all such facts in one finding, because one command helps with all of them.
    pub fn unseen(&mut self) {
        if self.unseen.is_empty() {
            return;
        }
        let message = format!("not checked without root: {}", std::mem::take(&mut self.unseen).join(", "));
        self.warn("permission", message, Some("sudo filterd doctor".to_owned()));
    }

    pub fn all(&self) -> &[Finding] {
        &self.told
    }

    /// The number of findings with this severity.
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

/// A size in readable units.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..0x10_0000 => format!("{} KiB", bytes >> 10),
        0x10_0000..0x2_8000_0000 => format!("{} MiB", bytes >> 20),
        _ => format!("{} GiB", bytes >> 30),
    }
}
