//! The kernel's own types (BTF): of use to others who look at its programs, and not needed by filterd.

use super::{Findings, Subject};

/// Says whether they are there.
pub fn check(subject: &Subject, findings: &mut Findings) {
    let is_there = subject.file("sys/kernel/btf/vmlinux").exists();
    let told = if is_there {
        "the kernel provides its types (BTF)"
    } else {
        "the kernel does not provide its types (BTF); filterd does not need them"
    };
    findings.ok("btf", told);
}
