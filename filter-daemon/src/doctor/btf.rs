//! The kernel's own types (BTF): of use to others who look at its programs, and not needed by filterd.

use super::{Findings, Subject};

/// Says whether they are there.
pub fn check(subject: &Subject, findings: &mut Findings) {
    let is_there = subject.file("sys/kernel/btf/vmlinux").exists();
    let told = if is_there {
        "the kernel tells its types"
    } else {
        "the kernel does not tell its types; filterd needs none"
    };
    findings.ok("btf", told);
}
