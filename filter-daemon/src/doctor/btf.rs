//! Checks the kernel's type information (BTF). Other tools use it, but filterd does not need it.

use super::{Findings, Subject};

/// Reports whether the type information exists.
pub fn check(subject: &Subject, findings: &mut Findings) {
    let is_there = subject.file("sys/kernel/btf/vmlinux").exists();
    let told = if is_there {
        "the kernel provides its types (BTF)"
    } else {
        "the kernel does not provide its types (BTF); filterd does not need them"
    };
    findings.ok("btf", told);
}
