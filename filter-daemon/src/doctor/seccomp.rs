//! seccomp, by which filterd's processes may make no system calls that they have no use for. filterd works without.

use super::{Findings, Subject};

const CHECK: &str = "seccomp";

/// What the kernel can do with a call that a filter does not want.
const ACTIONS: &str = "proc/sys/kernel/seccomp/actions_avail";

/// Says whether the kernel has it.
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
