//! Network namespaces. A filterd filters the interfaces of one namespace, and guards the addresses that its
//! host needs there.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Identifies the namespace of this process until the next boot; none if it may not be read.
pub fn ours() -> Option<String> {
    of(Path::new("/proc"), "self")
}

/// Whether the filterd with this process id is in another namespace. If in doubt, the answer is no: if the
/// namespaces may not be read, or if the process is not filterd. A daemon with its own process namespace
/// reports a number that means another process here.
pub fn is_another(proc: &Path, pid: u32) -> bool {
    let comm = fs::read_to_string(proc.join(pid.to_string()).join("comm"));
    let is_filterd = comm.is_ok_and(|comm| comm.starts_with("filterd"));
    match (of(proc, "self"), of(proc, &pid.to_string())) {
        (Some(ours), Some(its)) => is_filterd && ours != its,
        (None, _) | (_, None) => false,
    }
}

/// The name that `ip netns` gives to this namespace, if any.
pub fn name() -> Option<String> {
    name_among(Path::new("/run/netns"), &fs::metadata("/proc/self/ns/net").ok()?)
}

fn name_among(names: &Path, ours: &Metadata) -> Option<String> {
    let is_ours = |path: &Path| {
        fs::metadata(path).is_ok_and(|found| (found.dev(), found.ino()) == (ours.dev(), ours.ino()))
    };
    let named = fs::read_dir(names).ok()?.flatten().find(|entry| is_ours(&entry.path()))?;
    named.file_name().into_string().ok()
}

fn of(proc: &Path, process: &str) -> Option<String> {
    let found = fs::metadata(proc.join(process).join("ns/net")).ok()?;
    Some(format!("{:x}:{:x}", found.dev(), found.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn namespace_is_known_by_its_name() {
        let names = tempfile::TempDir::new().unwrap();
        fs::write(names.path().join("red"), "").unwrap();
        fs::write(names.path().join("blue"), "").unwrap();
        let ours = fs::metadata(names.path().join("blue")).unwrap();
        assert_eq!(name_among(names.path(), &ours).as_deref(), Some("blue"));
        assert_eq!(name_among(names.path(), &fs::metadata("/").unwrap()), None);
    }
}
