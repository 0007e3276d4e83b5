//! Checks the system clock. Deadlines follow the time since boot, but across a reboot they depend on this
//! clock.

use super::processes::running;
use super::{Findings, Subject};
use crate::clock;

const CHECK: &str = "clock";

/// The 1st of January 2025, before the first version of filterd.
const NEVER_BEFORE: u64 = 1_735_689_600;

/// Programs that synchronise the clock. The kernel cuts names to 15 characters.
const KEEPERS: [&str; 7] =
    ["systemd-timesyn", "chronyd", "ntpd", "ntp-daemon", "openntpd", "ptp4l", "phc2sys"];

/// Reports whether the clock can be correct.
pub fn check(subject: &Subject, findings: &mut Findings) {
    let is_told = subject.file("run/systemd/timesync/synchronized").exists();
    let keeper = running(&subject.root, &KEEPERS).map(|(name, _)| name);
    judge(clock::since_1970().as_secs(), keeper, is_told, findings);
}

fn judge(now: u64, keeper: Option<&str>, is_synchronised: bool, findings: &mut Findings) {
    if now < NEVER_BEFORE {
        let told = "the clock is wrong (before filterd was built): entries with an expiry would last too long or too short after a reboot";
        return findings.fail(CHECK, told, Some("timedatectl set-ntp true".to_owned()));
    }
    match keeper {
        Some("systemd-timesyn") if is_synchronised => findings.ok(CHECK, "synchronised by systemd-timesyncd"),
        Some("systemd-timesyn") => findings.warn(
            CHECK,
            "systemd-timesyncd runs, but has not synchronised the clock yet",
            Some("timedatectl timesync-status".to_owned()),
        ),
        Some(keeper) => findings.ok(CHECK, format!("kept by {keeper}")),
        None => findings.warn(
            CHECK,
            "no process that synchronises it was found: entries with an expiry depend on this clock after a reboot",
            Some("timedatectl set-ntp true".to_owned()),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Health;
    use super::*;

    #[test]
    fn unsynchronised_or_wrong_clock_is_reported() {
        let told = |now, keeper, is_synchronised| {
            let mut findings = Findings::default();
            judge(now, keeper, is_synchronised, &mut findings);
            findings.all()[0].health
        };
        let now = 1_800_000_000;
        assert_eq!(told(now, Some("chronyd"), false), Health::Ok);
        assert_eq!(told(now, Some("systemd-timesyn"), true), Health::Ok);
        assert_eq!(told(now, Some("systemd-timesyn"), false), Health::Warn);
        assert_eq!(told(now, None, false), Health::Warn);
        assert_eq!(told(0, Some("chronyd"), false), Health::Fail);
    }
}
