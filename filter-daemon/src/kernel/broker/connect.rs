//! The programs for what local processes send: `connect` and `sendto` fail at once where a destination is
//! blocked. They are a courtesy beside the judge of sent frames, never alone. They are attached at the root of the
//! cgroup hierarchy, so that containers have them, too. Among the pins, `connect/` has one entry for each.
//!
//! There is no root program here: with each judge that is published, new programs are attached before the
//! earlier ones are detached. Until then both decide, so nothing that both judges drop gets through.

use std::fs::{self, File};
use std::io;
use std::os::linux::fs::MetadataExt;
use std::path::{Path, PathBuf};

use aya::Ebpf;
use aya::programs::links::FdLink;
use aya::programs::{CgroupAttachMode, CgroupSockAddr};
use tracing::{info, warn};

use super::super::KernelError;
use super::super::hook::Hook;
use super::loaders;
use super::object;
use super::pins::Pins;
use super::request::CallErrors;
use super::sent_work::CONNECT;
use super::tables::{Tables, write_settings};
use crate::text::Explain;

/// Whether the programs are attached.
#[derive(Debug, Default)]
pub struct ConnectPrograms {
    is_attached: bool,
    /// Why they are not attached, although they should be.
    refused: Option<String>,
}

impl ConnectPrograms {
    /// Replaces the programs by such with these settings and tables. An error is kept for reports, because the
    /// judge of sent frames drops the packets anyway.
    pub fn replace(&mut self, settings: &[u64], tables: &Tables, pins: &Pins) {
        match attach_all(settings, tables, pins) {
            Ok(place) => {
                if !self.is_attached {
                    info!(
                        "calls that send to blocked destinations fail at once, in all cgroups below {place:?}"
                    );
                }
                (self.is_attached, self.refused) = (true, None);
            }
            Err(error) => {
                let told = error.explain().to_string();
                if self.refused.as_ref() != Some(&told) {
                    warn!("{told}");
                }
                self.refused = Some(told);
            }
        }
    }

    /// Detaches the programs. Calls wait again instead of failing.
    pub fn end(&mut self, pins: &Pins) -> Result<(), KernelError> {
        *self = Self::default();
        pins.forget_connect().map_err(|error| KernelError::load("remove the pins of cgroup programs", error))
    }

    /// True if one is not attached, or if someone removed a pin.
    pub fn are_missing(&self, pins: &Pins) -> bool {
        let is_missing = |name: &&'static str| !pins.connect(name).exists();
        self.refused.is_some() || !self.is_attached || CONNECT.iter().any(is_missing)
    }

    /// Whose calls to blocked destinations fail at once.
    pub fn state(&self) -> CallErrors {
        match &self.refused {
            Some(why) => CallErrors::Refused(why.clone()),
            None if !self.is_attached => CallErrors::Off,
            None if sees_only_its_own() => CallErrors::OwnCgroup,
            None => CallErrors::On,
        }
    }
}

/// Attaches all programs. Returns the cgroup.
fn attach_all(settings: &[u64], tables: &Tables, pins: &Pins) -> Result<PathBuf, KernelError> {
    let failed = |error: &(dyn std::error::Error + 'static)| {
        KernelError::load_of("attach programs to the root cgroup", error)
    };
    let place = hierarchy().map_err(|error| failed(&error))?;
    let cgroup = File::open(&place).map_err(|error| failed(&error))?;
    let mut object = tables.write_into(&object::CONNECT, Hook::Sent).map_err(|error| failed(&error))?;
    write_settings(&mut object, settings).map_err(|error| failed(&error))?;
    let mut object: Ebpf = loaders::with(|loader| loader.load(&object)).map_err(|error| failed(&error))?;
    pins.make_connect()?;
    for name in CONNECT {
        let program: &mut CgroupSockAddr = object
            .program_mut(name)
            .and_then(|program| program.try_into().ok())
            .expect("the embedded object has these programs");
        program.load().map_err(|error| failed(&error))?;
        // A link always leaves room for programs of others, and the kernel wants no flag that says so.
        let link = program.attach(&cgroup, CgroupAttachMode::Single).map_err(|error| failed(&error))?;
        let link = program.take_link(link).map_err(|error| failed(&error))?;
        let link = FdLink::try_from(link).map_err(|error| failed(&error))?;
        let (pin, new) = (pins.connect(name), pins.new_connect(name));
        // Left by a daemon that was killed here.
        _ = fs::remove_file(&new);
        link.pin(&new).map_err(|error| failed(&error))?;
        fs::rename(&new, &pin).map_err(|error| failed(&error))?;
    }
    Ok(place)
}

/// The mount of the cgroup hierarchy of version 2, which is found by its type.
fn hierarchy() -> io::Result<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    let found = mounts.lines().find_map(mount_of_cgroups);
    found.ok_or_else(|| io::Error::other("no cgroup2 file system is mounted"))
}

/// The place of this mount, if it is the hierarchy (see proc_pid_mountinfo(5)).
fn mount_of_cgroups(line: &str) -> Option<PathBuf> {
    let (before, after) = line.split_once(" - ")?;
    let kind = after.split(' ').next()?;
    let mut fields = before.split(' ').skip(3);
    let (root, place) = (fields.next()?, fields.next()?);
    (kind == "cgroup2" && root == "/").then(|| PathBuf::from(place.replace("\\040", " ")))
}

/// The number of the first cgroup namespace, which is the same on every Linux.
const FIRST_NAMESPACE: u64 = 0xEFFF_FFFB;

/// True if this process sees only its own cgroup, as in a container: other processes of the host are below
/// other cgroups then.
fn sees_only_its_own() -> bool {
    let own = fs::metadata(Path::new("/proc/self/ns/cgroup")).map(|found| found.st_ino());
    own.is_ok_and(|number| number != FIRST_NAMESPACE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hierarchy_is_found_by_its_type() {
        for (line, expected) in [
            (
                "31 24 0:27 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate",
                Some("/sys/fs/cgroup"),
            ),
            ("32 24 0:28 / /sys/fs/cgroup/unified rw - cgroup2 none rw", Some("/sys/fs/cgroup/unified")),
            ("32 24 0:28 / /a\\040b rw - cgroup2 none rw", Some("/a b")),
            ("33 24 0:29 /docker/1 /sys/fs/cgroup ro - cgroup2 cgroup rw", None),
            ("34 24 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu", None),
            ("35", None),
        ] {
            assert_eq!(mount_of_cgroups(line), expected.map(PathBuf::from), "{line}");
        }
    }
}
