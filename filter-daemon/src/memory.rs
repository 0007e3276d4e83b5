//! Finds out how much memory is free, and what limits it.

use std::fs;
use std::path::{Path, PathBuf};

/// The mount point of cgroups, which may limit memory.
const GROUPS: &str = "/sys/fs/cgroup";

/// Memory that is free for a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Available {
    pub bytes: u64,
    /// The cgroup with the smallest remainder; none if the machine itself has less.
    pub limit: Option<String>,
}

/// The resident memory of this process, in bytes.
pub fn own() -> u64 {
    field(&read("/proc/self/status"), "VmRSS:").unwrap_or_default()
}

/// The memory of the machine, in bytes.
pub fn of_the_machine() -> Option<u64> {
    field(&read("/proc/meminfo"), "MemTotal:")
}

/// The free memory of the machine, in bytes, without limits of this process.
pub fn free_on_the_machine() -> Option<u64> {
    field(&read("/proc/meminfo"), "MemAvailable:")
}

/// The memory that is free for this process: that of the machine, or the smallest remainder of its cgroups.
/// None if the kernel reports neither.
pub fn available() -> Option<Available> {
    available_to(None)
}

/// The memory that is free for another process, or for this one if none is given.
pub fn available_to(process: Option<u32>) -> Option<Available> {
    let machine = free_on_the_machine().map(|bytes| Available { bytes, limit: None });
    let groups = cgroups(process);
    let limited = groups.iter().filter_map(|group| {
        let name = group.strip_prefix(GROUPS).unwrap_or(group);
        Some(Available { bytes: left_in(group)?, limit: Some(format!("/{}", name.display())) })
    });
    machine.into_iter().chain(limited).min_by_key(|available| available.bytes)
}

/// A number of kilobytes after its name, in bytes.
fn field(text: &str, name: &str) -> Option<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(value.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

/// The process's cgroup and all above it.
fn cgroups(process: Option<u32>) -> Vec<PathBuf> {
    let process = process.map_or_else(|| "self".to_owned(), |process| process.to_string());
    let text = read(&format!("/proc/{process}/cgroup"));
    let Some(own) = text.lines().find_map(|line| line.strip_prefix("0::/")) else { return Vec::new() };
    Path::new(GROUPS).join(own).ancestors().map(Path::to_owned).collect()
}

/// The memory that a cgroup may still use; none without a limit.
fn left_in(group: &Path) -> Option<u64> {
    let number = |name: &str| fs::read_to_string(group.join(name)).ok()?.trim().parse::<u64>().ok();
    Some(number("memory.max")?.saturating_sub(number("memory.current")?))
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_kilobytes_become_bytes() {
        let text = "MemTotal:        8000 kB\nMemAvailable:       12 kB\n";
        assert_eq!(field(text, "MemAvailable:"), Some(12 * 1024));
        assert_eq!(field(text, "MemOther:"), None);
        assert!(own() > 0 && available().is_some_and(|free| free.bytes > 0));
    }

    #[test]
    fn a_cgroup_leaves_what_it_does_not_use() {
        let group = tempfile::tempdir().unwrap();
        let write = |name, text| fs::write(group.path().join(name), text).unwrap();
        write("memory.max", "max\n");
        write("memory.current", "300\n");
        assert_eq!(left_in(group.path()), None, "it has no limit");
        write("memory.max", "1000\n");
        assert_eq!(left_in(group.path()), Some(700));
    }
}
