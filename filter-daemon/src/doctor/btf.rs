//! Checks the kernel's type information (BTF). Other tools use it, but filterd does not need it.

use super::{Findings, Subject};

/// Reports whether the type information exists.
pub fn check(subject: &Subject, findings: &mut Findings) {
    let is_there = subject.file("sys/kernel/btf/vmlinux").exists();
    let told = if is_there {
        "the kernel tells its types"
    } else {
        "the kernel does not tell its types; filterd needs none"
    };
    findings.ok("btf", told);
}
