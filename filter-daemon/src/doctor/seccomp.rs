//! Checks seccomp, which denies filterd's processes the system calls that they do not need. filterd works
//! without it.

use super::{Findings, Subject};

const CHECK: &str = "seccomp";

/// Lists how the kernel can treat a call that a filter rejects.
const ACTIONS: &str = "proc/sys/kernel/seccomp/actions_avail";

/// Reports whether the kernel has seccomp.
pub fn check(subject: &Subject, findings: &mut Findings) {
    let actions = subject.text(ACTIONS).unwrap_or_default();
    if actions.split_whitespace().any(|action| action == "errno") {
        findings.ok(CHECK, "system calls that filterd has no use for are refused");
    } else {
        findings.warn(
            CHECK,
            "none: a process of filterd's that was broken into may make any system call",
            Some("use a kernel with CONFIG_SECCOMP_FILTER".to_owned()),
        );
    }
}
