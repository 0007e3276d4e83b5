//! Finds out whether pins last. A BPF file system and its pins end with the last mount namespace that
//! contains it. `ip netns exec` creates such a namespace, and so does each container.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nix::sys::stat::{major, minor};
use nix::sys::statfs::{BPF_FS_MAGIC, statfs};

use crate::net_namespace;

/// No process has that many ancestors.
const MOST_ANCESTORS: usize = 1024;

/// Whether there is a BPF file system at this path or above it.
pub fn has_bpffs(place: &Path) -> bool {
    let found = place.ancestors().find_map(|path| statfs(path).ok());
    found.is_some_and(|found| found.filesystem_type() == BPF_FS_MAGIC)
}

/// Whether pins at this path end with the mount namespace of this process. `was_there` says that another
/// process mounted their file system. If in doubt, the answer is no.
///
/// Mounts of process 1 last. If process 1 is this process or not one of its ancestors, this is a container,
/// whose runtime has mounted what lasts. A file system that filterd mounted there lasts only if the mount
/// propagates to other namespaces.
pub fn ends_with_ours(proc: &Path, place: &Path, was_there: bool) -> bool {
    let Ok(found) = fs::metadata(place) else { return false };
    let device = format!("{}:{}", major(found.dev()), minor(found.dev()));
    let is_it = |mount: &Mount| mount.device == device && mount.kind == "bpf";
    match mounts_of(proc, "1").filter(|_| !is_first(proc)) {
        Some(first) if first.iter().any(is_it) => false,
        Some(_) if descends_from_first(proc) => true,
        Some(_) | None => {
            let ours = mounts_of(proc, "self").unwrap_or_default();
            !was_there && !ours.iter().any(|mount| is_it(mount) && mount.is_shared)
        }
    }
}

/// Whether a file system mounted at this path would end with the mount namespace of this process. If in
/// doubt, the answer is no.
pub fn would_end_with_ours(proc: &Path, place: &Path) -> bool {
    let first = mounts_of(proc, "1").filter(|_| !is_first(proc) && descends_from_first(proc));
    let (Some(first), Some(ours)) = (first, mounts_of(proc, "self")) else { return false };
    let around = ours.iter().filter(|mount| place.starts_with(&mount.point));
    let Some(around) = around.max_by_key(|mount| mount.point.len()) else { return false };
    !around.is_shared && first.iter().all(|mount| mount.id != around.id)
}

/// How to start filterd so that its pins last.
pub fn cure() -> String {
    match net_namespace::name() {
        Some(name) => format!(
            "start filterd in the mount namespace of the host, because `ip netns exec {name}` creates its own: nsenter --net=/run/netns/{name} filterd …"
        ),
        None => "start filterd in the mount namespace of the host, after `mount -t bpf bpf /sys/fs/bpf` if it is not mounted there; for a container, pass `-v /sys/fs/bpf:/sys/fs/bpf`"
            .to_owned(),
    }
}

/// One line of /proc/PID/mountinfo.
struct Mount {
    /// Unique among the mounts of all namespaces.
    id: String,
    device: String,
    point: String,
    /// Mounts below it propagate to other namespaces.
    is_shared: bool,
    kind: String,
}

impl Mount {
    fn parse(line: &str) -> Option<Self> {
        let (mount, file_system) = line.split_once(" - ")?;
        let fields: Vec<_> = mount.split(' ').collect();
        let [id, _parent, device, _root, point, _options, further @ ..] = &fields[..] else { return None };
        let is_shared = further.iter().any(|field| field.starts_with("shared:"));
        let kind = file_system.split(' ').next()?.to_owned();
        let [id, device, point] = [id, device, point].map(|&field| field.to_owned());
        Some(Self { id, device, point, is_shared, kind })
    }
}

fn mounts_of(proc: &Path, process: &str) -> Option<Vec<Mount>> {
    let text = fs::read_to_string(proc.join(process).join("mountinfo")).ok()?;
    Some(text.lines().filter_map(Mount::parse).collect())
}

fn is_first(proc: &Path) -> bool {
    status(proc, "self", "Pid:").is_none_or(|pid| pid == 1)
}

fn descends_from_first(proc: &Path) -> bool {
    let parent = |process: &u32| status(proc, &process.to_string(), "PPid:").filter(|parent| *parent > 0);
    let ancestors = std::iter::successors(status(proc, "self", "PPid:"), parent);
    ancestors.take(MOST_ANCESTORS).any(|ancestor| ancestor == 1)
}

/// A number in /proc/PID/status.
fn status(proc: &Path, process: &str, field: &str) -> Option<u32> {
    let text = fs::read_to_string(proc.join(process).join("status")).ok()?;
    text.lines().find_map(|line| line.strip_prefix(field)?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    /// A /proc of a process with these parents, in order. Its pins are in `place`.
    struct Proc(TempDir);

    impl Proc {
        fn new(pid: u32, parents: &[u32]) -> Self {
            let this = Self(TempDir::new().unwrap());
            this.write("self/status", &format!("Name:\tfilterd\nPid:\t{pid}\nPPid:\t{}\n", parents[0]));
            for pair in parents.windows(2) {
                this.write(&format!("{}/status", pair[0]), &format!("PPid:\t{}\n", pair[1]));
            }
            this
        }

        fn write(&self, name: &str, text: &str) {
            let path = self.0.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        /// Adds the mounts of a process: the mount number, and how the BPF file system is shared, or none
        /// without one.
        fn mounts(self, process: &str, id: u32, how: Option<&str>) -> Self {
            let device = fs::metadata(self.0.path()).unwrap().dev();
            let (major, minor) = (major(device), minor(device));
            let mut text = format!("{id} 1 8:1 / / rw,relatime shared:1 - ext4 /dev/root rw\n");
            if let Some(how) = how {
                text += &format!("4{id} {id} {major}:{minor} / /sys/fs/bpf rw{how} - bpf bpf rw,mode=700\n");
            }
            self.write(&format!("{process}/mountinfo"), &text);
            self
        }

        fn ends(&self, was_there: bool) -> bool {
            ends_with_ours(self.0.path(), self.0.path(), was_there)
        }
    }

    #[test]
    fn pins_last_where_the_first_process_has_them() {
        for parents in [&[700, 1, 0][..], &[0]] {
            let proc = Proc::new(800, parents).mounts("self", 9, Some("")).mounts("1", 2, Some(" shared:3"));
            assert!(!proc.ends(true) && !proc.ends(false), "{parents:?}");
        }
    }

    /// The case of `ip netns exec`, also if an earlier filterd mounted the file system.
    #[test]
    fn pins_of_an_own_namespace_end_with_it() {
        let proc = Proc::new(800, &[700, 1, 0]).mounts("self", 9, Some("")).mounts("1", 2, None);
        assert!(proc.ends(false) && proc.ends(true));
    }

    /// This process is the first one of the container, or was started in it from outside, beside one that
    /// only holds a pod together.
    #[test]
    fn container_pins_last_where_its_runtime_mounts() {
        for (pid, first) in [(1, Some("")), (30, None)] {
            let proc = Proc::new(pid, &[0]).mounts("self", 9, Some("")).mounts("1", 9, first);
            assert!(!proc.ends(true) && proc.ends(false), "process {pid}");
            let proc = proc.mounts("self", 9, Some(" shared:7"));
            assert!(!proc.ends(false), "process {pid}: it is mounted on the host, too");
        }
    }

    #[test]
    fn unreadable_mounts_are_no_fault() {
        assert!(!Proc::new(800, &[700, 1, 0]).ends(true));
        let nowhere = Path::new("/nonexistent");
        assert!(!ends_with_ours(nowhere, nowhere, false) && !would_end_with_ours(nowhere, nowhere));
    }

    #[test]
    fn mount_in_own_namespace_ends_with_it() {
        let would = |id, parents: &[u32]| {
            let proc = Proc::new(800, parents).mounts("1", 2, None);
            let private = format!("{id} 1 0:44 / /sys rw - sysfs none rw\n");
            proc.write("self/mountinfo", &format!("5 1 8:1 / / rw shared:1 - ext4 /dev/root rw\n{private}"));
            would_end_with_ours(proc.0.path(), Path::new("/sys/fs/bpf"))
        };
        assert!(would(77, &[1, 0]));
        assert!(!would(2, &[1, 0]), "it is the namespace of the first process");
        assert!(!would(77, &[0]), "we are in a container");
    }
}
