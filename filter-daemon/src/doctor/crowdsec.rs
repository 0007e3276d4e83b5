//! Checks how the daemon follows CrowdSec. Whether CrowdSec answers, the faults of the daemon say.

use super::{Findings, Subject};

const CHECK: &str = "crowdsec";

pub fn check(subject: &Subject, findings: &mut Findings) {
    let Some(status) = subject.daemon.answer() else { return };
    for one in &status.crowdsec {
        let name = &one.name;
        if one.missed > 0 {
            let decisions =
                if one.missed == 1 { "1 decision".to_owned() } else { format!("{} decisions", one.missed) };
            let message = format!(
                "CrowdSec \"{name}\" did not send {decisions} when they were made; another program may poll with the same key from this host"
            );
            let remedy = "give each program its own key: sudo cscli bouncers add filterd";
            findings.warn(CHECK, message, Some(remedy.to_owned()));
        } else if one.error.is_none() {
            findings.ok(
                CHECK,
                format!("\"{name}\" answers, and {} of {} decisions are enforced", one.enforced, one.decided),
            );
        }
    }
}
