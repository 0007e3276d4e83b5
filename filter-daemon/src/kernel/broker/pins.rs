//! The directory in which programs, maps and links are pinned, so that they outlive the daemon.
//!
//! - `root`, `next` and `counters` stay as long as filterd is attached anywhere.
//! - An empty directory records the version of the root program.
//! - `links/` has one pin for each interface.
//! - `tables/` has the maps in use, numbered by generation.
//! - A note (`former`) marks a link whose original name now belongs to another interface.

mod aside;
mod egress;
mod former;
mod removal;

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use filter_common::sets::SetName;
use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
use nix::mount::{MsFlags, mount};
use nix::sys::statfs::{BPF_FS_MAGIC, statfs};
use nix::unistd::{Uid, geteuid};

use super::super::KernelError;
use super::super::hook::Hook;
use super::request::{MapName, MapPart, MapUse};
use crate::accounts;
use crate::config::pin;
use crate::lock::{Lock, LockedPlace, NotLocked};
use crate::text::printable;

/// The pin directory of one daemon.
#[derive(Clone, Debug)]
pub struct Pins {
    directory: PathBuf,
}

/// The pin directory of a start that is tried out beside the running filterd.
pub const REHEARSAL: &str = "rehearsal";

/// The directory itself, and its subdirectories that always exist.
const PARTS: [&str; 3] = ["", "links", "tables"];

/// A user who can write to a pin can remove the firewall.
const OWNER_ONLY: u32 = 0o700;

const VERSION: &str = "version-";

/// Attempts to make the directory if others remove it at the same time.
const TRIES: usize = 10;

impl Pins {
    /// Makes the directory, and mounts the BPF file system at its usual place if it is missing. The directory
    /// is locked before its content is changed.
    pub fn open(directory: &Path) -> Result<(Self, Lock), KernelError> {
        let pins = Self::at(directory);
        mount_where_usual(directory);
        let made = || {
            pins.make_ours("")?;
            pins.lock("")
        };
        // A broker whose daemon was killed at start removes the directory as its last act, perhaps at this
        // moment.
        let lock = (0..TRIES).find_map(|_| match made() {
            Err(KernelError::NoBpffs { .. }) if !directory.exists() => None,
            made => Some(made),
        });
        let lock = lock.unwrap_or_else(made)?;
        // Left by a rehearsal that was killed.
        pins.remove_rehearsal().map_err(|source| KernelError::no_bpffs(directory, &source))?;
        pins.make()?;
        Ok((pins, lock))
    }

    fn at(directory: &Path) -> Self {
        // Removes a slash at the end.
        Self { directory: directory.components().collect() }
    }

    /// Makes the directories that are missing.
    pub fn make(&self) -> Result<(), KernelError> {
        PARTS.into_iter().try_for_each(|part| self.make_ours(part))
    }

    /// True if any of the directories is missing.
    pub fn is_missing(&self) -> bool {
        PARTS.into_iter().any(|part| !self.directory.join(part).exists())
    }

    /// Locks the directory, or one of its subdirectories.
    pub fn lock(&self, part: &str) -> Result<Lock, KernelError> {
        let directory = if part.is_empty() { self.directory.clone() } else { self.directory.join(part) };
        Lock::directory(LockedPlace::Pins, &directory).map_err(|error| match error {
            NotLocked::Taken(taken) => KernelError::Taken(taken),
            NotLocked::Failed(source) => KernelError::no_bpffs(&self.directory, &source),
        })
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The root program of this hook, which stays attached.
    pub fn root(&self, hook: Hook) -> PathBuf {
        self.of_hook("root", hook)
    }

    /// The slot through which the root program jumps to the judge.
    pub fn next(&self, hook: Hook) -> PathBuf {
        self.of_hook("next", hook)
    }

    /// The root program that is about to replace the current one.
    pub fn new_root(&self, hook: Hook) -> PathBuf {
        self.of_hook("new-root", hook)
    }

    /// The slot of the new root program.
    pub fn new_next(&self, hook: Hook) -> PathBuf {
        self.of_hook("new-next", hook)
    }

    fn of_hook(&self, name: &str, hook: Hook) -> PathBuf {
        self.directory.join(format!("{name}{}", hook.suffix()))
    }

    /// The pins of all root programs and their slots.
    fn roots(&self) -> impl Iterator<Item = PathBuf> {
        Hook::ALL
            .into_iter()
            .flat_map(|hook| [self.root(hook), self.next(hook), self.new_root(hook), self.new_next(hook)])
    }

    /// The counters of packets.
    pub fn counters(&self) -> PathBuf {
        self.directory.join("counters")
    }

    pub fn link(&self, interface: &str) -> PathBuf {
        self.directory.join("links").join(pin::of(interface))
    }

    pub fn links(&self) -> Vec<PathBuf> {
        entries(&self.directory.join("links"))
    }

    /// Renames the pin of a link. If the other name is in use, the two pins exchange their names.
    pub fn rename_link(&self, from: &str, to: &str) -> io::Result<()> {
        let (from, to) = (self.link(from), self.link(to));
        let both = if to.exists() { RenameFlags::RENAME_EXCHANGE } else { RenameFlags::RENAME_NOREPLACE };
        Ok(renameat2(AT_FDCWD, &from, AT_FDCWD, &to, both)?)
    }

    pub fn table(&self, MapUse { map, generation }: MapUse) -> PathBuf {
        self.directory.join("tables").join(format!("{}-{generation}", map.name()))
    }

    /// The highest generation of a pinned map; zero if there is none.
    pub fn latest_generation(&self) -> u64 {
        let generation = |path: PathBuf| path.file_name()?.to_str()?.rsplit_once('-')?.1.parse().ok();
        entries(&self.directory.join("tables")).into_iter().filter_map(generation).max().unwrap_or(0)
    }

    /// True if any table of blocked targets is pinned, with or without ports.
    pub fn has_blocked(&self) -> bool {
        let parts = [MapPart::Addresses, MapPart::Networks, MapPart::Levels, MapPart::Six];
        let names = |set| parts.map(|part| MapName { set, part }.name());
        let names: Vec<_> = SetName::blocking().flat_map(names).collect();
        let is_one = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str()?.rsplit_once('-'));
            name.is_some_and(|(name, _)| names.contains(&name))
        };
        entries(&self.directory.join("tables")).iter().any(is_one)
    }

    /// The version of the root program, if it is pinned together with its slot.
    pub fn root_version(&self, hook: Hook) -> io::Result<Option<String>> {
        if !self.root(hook).exists() || !self.next(hook).exists() {
            return Ok(None);
        }
        // A root without a note comes from before versions were noted.
        Ok(Some(self.versions(hook).next().map_or_else(String::new, |(version, _)| version)))
    }

    /// True if the root is noted to have this version.
    pub fn has_version(&self, hook: Hook, version: &str) -> bool {
        self.version(hook, version).exists()
    }

    /// Notes the version of the root that is about to be pinned.
    pub fn set_root_version(&self, hook: Hook, version: &str) -> io::Result<()> {
        self.versions(hook).try_for_each(|(_, path)| fs::remove_dir(path))?;
        fs::create_dir(self.version(hook, version))
    }

    /// Replaces the old root and its slot by the new ones.
    pub fn promote_root(&self, hook: Hook, version: &str) -> io::Result<()> {
        fs::rename(self.new_next(hook), self.next(hook))?;
        fs::rename(self.new_root(hook), self.root(hook))?;
        self.set_root_version(hook, version)
    }

    /// Removes the pins of all tables except these.
    pub fn keep_tables(&self, keep: &[PathBuf]) -> io::Result<()> {
        let tables = entries(&self.directory.join("tables")).into_iter();
        tables.filter(|path| !keep.contains(path)).try_for_each(fs::remove_file)
    }

    /// Removes the pin of one table, if it exists.
    pub fn forget_table(&self, map: MapUse) -> io::Result<()> {
        remove_pin(&self.table(map))
    }

    /// Removes the root program of a hook, so that a new one can replace it. Without the root for XDP, the
    /// counters and tables have no owner either.
    pub fn forget_root(&self, hook: Hook) -> io::Result<()> {
        [self.root(hook), self.next(hook)].iter().try_for_each(|path| remove_pin(path))?;
        if hook != Hook::Xdp {
            return Ok(());
        }
        remove_pin(&self.counters())?;
        self.keep_tables(&[])
    }

    /// Refuses a path that belongs to another user, or that another user may access.
    pub fn must_be_ours(&self, path: &Path) -> Result<(), KernelError> {
        let found =
            fs::symlink_metadata(path).map_err(|source| KernelError::no_bpffs(&self.directory, &source))?;
        let (ours, owner) = (geteuid().as_raw(), found.uid());
        let user = |uid| match accounts::user_of(Uid::from_raw(uid)) {
            Some(user) => format!("user {} (uid {uid})", user.name),
            None => format!("user {uid}"),
        };
        let why = if found.is_symlink() {
            let to = fs::read_link(path).unwrap_or_default();
            format!("it is a link to {}, made by {}", printable::path(&to), user(owner))
        } else if owner != ours {
            format!("it belongs to {}, but filterd runs as {}", user(owner), user(ours))
        } else if found.mode() & 0o077 != 0 {
            format!("other users may access it (mode {:04o})", found.mode() & 0o7777)
        } else {
            return Ok(());
        };
        let is_ours = owner == ours && !found.is_symlink();
        Err(KernelError::Untrusted { path: path.to_owned(), why, is_ours, pins: self.directory.clone() })
    }

    fn version(&self, hook: Hook, version: &str) -> PathBuf {
        self.directory.join(format!("{VERSION}{version}{}", hook.suffix()))
    }

    /// The noted versions of a hook's root, and their notes.
    fn versions(&self, hook: Hook) -> impl Iterator<Item = (String, PathBuf)> {
        self.all_versions().into_iter().filter_map(move |path| {
            let version = path.file_name()?.to_str()?.strip_prefix(VERSION)?.strip_suffix(hook.suffix())?;
            // Versions are hexadecimal, so that a hyphen begins the suffix of another hook.
            (!version.contains('-')).then(|| (version.to_owned(), path.clone()))
        })
    }

    fn all_versions(&self) -> Vec<PathBuf> {
        let is_note = |path: &PathBuf| {
            path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(VERSION))
        };
        entries(&self.directory).into_iter().filter(is_note).collect()
    }

    fn make_ours(&self, part: &str) -> Result<(), KernelError> {
        // With a slash at its end, a link would be followed before it is detected.
        let path = if part.is_empty() { self.directory.clone() } else { self.directory.join(part) };
        // An object of another user is reported before it is opened, because it may lead anywhere.
        if fs::symlink_metadata(&path).is_ok() {
            self.must_be_ours(&path)?;
        }
        make(&path).map_err(|source| KernelError::no_bpffs(&self.directory, &source))?;
        self.must_be_ours(&path)
    }
}

fn make(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(OWNER_ONLY).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }?;
    if is_bpffs(path)? {
        return Ok(());
    }
    // This fails, as intended, if someone has put something into it.
    _ = fs::remove_dir(path);
    Err(io::Error::other("it is on another kind of file system"))
}

fn is_bpffs(path: &Path) -> io::Result<bool> {
    Ok(statfs(path)?.filesystem_type() == BPF_FS_MAGIC)
}

/// Removes a pin, if it exists. A directory of that name is not ours.
fn remove_pin(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::IsADirectory) => {
            Err(error)
        }
        _ => Ok(()),
    }
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// Containers and small systems often lack this mount. If mounting fails, making the directory reports the
/// cause.
fn mount_where_usual(directory: &Path) {
    let usual = Path::new("/sys/fs/bpf");
    let is_mounted = statfs(usual).is_ok_and(|kind| kind.filesystem_type() == BPF_FS_MAGIC);
    if directory.starts_with(usual) && !is_mounted {
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
        // With the default mode every user could create the pin directory first, and so keep filterd from
        // starting.
        _ = mount(Some("bpf"), usual, Some("bpf"), flags, Some("mode=0700"));
    }
}
