//! Network namespaces: a filterd filters the interfaces of one, and guards what its own host needs there.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What tells ours from others until the machine is booted anew; none where we may not look.
pub fn ours() -> Option<String> {
    of(Path::new("/proc"), "self")
}

/// Is that of this filterd another than ours? In doubt it is not: where we may not look, and where the process of this number
/// is none of filterd's, as with a daemon that counts processes in a namespace of its own.
pub fn is_another(proc: &Path, pid: u32) -> bool {
    let comm = fs::read_to_string(proc.join(pid.to_string()).join("comm"));
    let is_filterd = comm.is_ok_and(|comm| comm.starts_with("filterd"));
    match (of(proc, "self"), of(proc, &pid.to_string())) {
        (Some(ours), Some(its)) => is_filterd && ours != its,
        (None, _) | (_, None) => false,
    }
}

fn of(proc: &Path, process: &str) -> Option<String> {
    let found = fs::metadata(proc.join(process).join("ns/net")).ok()?;
    Some(format!("{:x}:{:x}", found.dev(), found.ino()))
}
