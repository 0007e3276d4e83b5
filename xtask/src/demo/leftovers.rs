//! What a killed demo left behind: its namespaces and places carry the number of a process that is no more.

use std::fs;
use std::path::Path;
use std::process::Command;

use bpf_build::process;

use super::{namespace, places};

const PREFIX: &str = "filterd-demo-";

/// A name that nobody else on this machine uses while we live.
pub fn name() -> String {
    format!("{PREFIX}{}", std::process::id())
}

/// Removes what demos that are no more have left.
pub fn remove() {
    for name in orphans(namespace::NAMED.as_ref()) {
        end_all_in(&name);
        namespace::remove(&name);
    }
    for directory in [places::pins(), places::files()] {
        orphans(&directory).iter().for_each(|name| places::remove(&directory.join(name)));
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

/// Ends the daemon of a demo that died before it could.
fn end_all_in(namespace: &str) {
    let processes =
        process::output(Command::new("ip").args(["netns", "pids", namespace])).unwrap_or_default();
    for process in processes.lines() {
        let _ = process::run_quietly(Command::new("kill").arg(process));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_name_is_no_orphan() {
        assert!(!is_orphan(&format!("{}-host", name())));
        assert!(!is_orphan("eth0"));
    }

    #[test]
    fn the_name_of_a_dead_process_is() {
        // Linux never gives a number this high.
        assert!(is_orphan("filterd-demo-4194305-host"));
    }
}
