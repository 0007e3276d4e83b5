//! What killed test runs left behind: namespaces, pins and homes that carry the number of a dead process.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::namespace;

/// Everything of a test run begins like this.
const PREFIX: &str = "filterd-test-";

static MADE: AtomicU32 = AtomicU32::new(0);

/// A name that nobody else on this machine uses while this process lives.
pub fn unique_name() -> String {
    format!("{PREFIX}{}-{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed))
}

/// Removes what runs that are no more have left.
pub fn remove() {
    for name in orphans(Path::new(namespace::NAMES)) {
        namespace::remove(&Path::new(namespace::NAMES).join(name));
    }
    for place in [Path::new("/sys/fs/bpf"), &std::env::temp_dir()] {
        for name in orphans(place) {
            let _ = fs::remove_dir_all(place.join(name));
        }
    }
}

fn orphans(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).filter(|name| is_orphan(name)).collect()
}

fn is_orphan(name: &str) -> bool {
    let process = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next());
    process.is_some_and(|process| !Path::new("/proc").join(process).exists())
}
