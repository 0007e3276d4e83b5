//! Checks the daemon at the control socket, if one runs.

use super::{Findings, Subject};
use crate::control::wire::status::Reply;
use crate::control::wire::{About, Fault};
use crate::net_namespace;
use crate::text::{Explanation, printable};

const CHECK: &str = "daemon";

/// The result of asking the daemon.
#[derive(Debug)]
pub enum DaemonCheck {
    Answered(Box<Reply>),
    /// No daemon runs, and no filter was left.
    Nobody,
    /// No daemon runs, but a filter was left running.
    Left(String),
    /// A daemon runs, but this user may not send requests.
    NotPermitted,
    /// A daemon runs, but does not answer correctly.
    Silent(Explanation),
}

impl DaemonCheck {
    pub fn answer(&self) -> Option<&Reply> {
        match self {
            Self::Answered(status) => Some(status),
            Self::Nobody | Self::Left(_) | Self::NotPermitted | Self::Silent(_) => None,
        }
    }
}

/// Reports the daemon and its own faults.
pub fn check(subject: &Subject, findings: &mut Findings) {
    let socket = printable::path(&subject.socket).to_string();
    match &subject.daemon {
        DaemonCheck::Answered(status) => {
            let told = format!(
                "filterd {} answers at {socket} (process {})",
                printable::excerpt(&status.filterd),
                status.pid
            );
            findings.ok(CHECK, told);
            if net_namespace::is_another(&subject.file("proc"), status.pid) {
                let message = "it is in another network namespace: it does not filter the interfaces here, even if the names are the same";
                let remedy = format!("to check those: nsenter -t {} -n filterd doctor", status.pid);
                findings.warn(CHECK, message, Some(remedy));
            }
            for Fault { about, told, .. } in &status.faults {
                let (message, remedy) = (told.message.clone(), told.remedy.clone());
                match about {
                    About::Protection => findings.fail(CHECK, message, remedy),
                    About::Durability
                    | About::Time
                    | About::Lists
                    | About::Configuration
                    | About::Confinement => {
                        findings.warn(CHECK, message, remedy);
                    }
                }
            }
        }
        DaemonCheck::Nobody => {
            findings.ok(CHECK, format!("none runs, and no filter is left (no process listens at {socket})"))
        }
        DaemonCheck::Left(told) => {
            let mut lines = told.lines();
            let message = lines.next().unwrap_or_default().to_owned();
            let remedy = lines.collect::<Vec<_>>().join("\n");
            findings.warn(
                CHECK,
                format!("none runs: {message}"),
                Some(remedy).filter(|remedy| !remedy.is_empty()),
            );
        }
        DaemonCheck::NotPermitted => findings.could_not_see(format!("the daemon at {socket}")),
        DaemonCheck::Silent(told) => {
            findings.fail(CHECK, told.message.clone(), told.remedy.clone());
        }
    }
}
