//! Whether we load with CAP_PERFMON, without which the kernel makes the same program slower.

use std::fs;

const CAP_PERFMON: u32 = 38;
const CAP_SYS_ADMIN: u32 = 21;

/// In words, with the kernel's release.
pub fn perfmon() -> String {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let with = if has(CAP_PERFMON) || has(CAP_SYS_ADMIN) { "with" } else { "without" };
    format!("Linux {}, {with} CAP_PERFMON", release.trim())
}

fn has(capability: u32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = effective.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok());
    effective.is_some_and(|bits| bits & 1 << capability != 0)
}
