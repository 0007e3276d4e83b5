//! Finds running processes by their names.

use std::fs;
use std::path::Path;

/// The name and number of the first running process with one of these names.
pub fn running(root: &Path, names: &[&'static str]) -> Option<(&'static str, u32)> {
    let listed = fs::read_dir(root.join("proc")).ok()?.flatten();
    let mut processes = listed.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    processes.find_map(|process| {
        let called = fs::read_to_string(root.join(format!("proc/{process}/comm"))).ok()?;
        Some((*names.iter().find(|name| **name == called.trim_end())?, process))
    })
}
