//! Where programs, maps and links are pinned, so that they outlive the daemon.
//!
//! `root`, `next` and `counters` stay as long as filterd is attached anywhere, and an empty directory says which version
//! the root is of; `links/` has one pin an interface, and `tables/` those of the maps in use, numbered by generation. What
//! stays filtered though another interface has taken its name has a note (`former`).

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
use super::request::{MapName, MapPart, MapUse};
use crate::accounts;
use crate::config::pin;
use crate::lock::{Lock, NotLocked, Place};
use crate::text::printable;

/// The directory of one daemon's pins.
#[derive(Clone, Debug)]
pub struct Pins {
    directory: PathBuf,
    /// Where the maps in use are: apart, as long as another filterd has the others.
    tables: &'static str,
    /// What counters are called: apart, where those of another filterd have another shape.
    counters: &'static str,
}

/// Where the maps of one that is about to take another's place are pinned.
const SUCCESSOR: &str = "successor";

/// The directory itself, and those below that are always there.
const PARTS: [&str; 3] = ["", "links", "tables"];

/// Whoever can write to a pin can remove the firewall.
const OWNER_ONLY: u32 = 0o700;

const VERSION: &str = "version-";

/// So often the directory is made that others remove at the same time.
const TRIES: usize = 10;

/// Counters of another shape than those that another filterd still counts in.
const NEW_COUNTERS: &str = "new-counters";

impl Pins {
    /// Makes the directory, and mounts the BPF file system where it usually is if it is not. It is locked before anything
    /// in it is touched.
    pub fn open(directory: &Path) -> Result<(Self, Lock), KernelError> {
        let pins = Self::at(directory);
        mount_where_usual(directory);
        let made = || {
            pins.make_ours("")?;
            pins.lock("")
        };
        // What a daemon has started that was killed as it began removes the directory as its last act, perhaps just now.
        let lock = (0..TRIES).find_map(|_| match made() {
            Err(KernelError::NoBpffs { .. }) if !directory.exists() => None,
            made => Some(made),
        });
        let lock = lock.unwrap_or_else(made)?;
        // One that takes its place may have got so far that this one has gone already.
        if pins.directory.join(SUCCESSOR).exists() {
            pins.make_ours(SUCCESSOR)?;
            drop(pins.lock(SUCCESSOR)?);
            pins.clear(SUCCESSOR, |_| true).map_err(|source| KernelError::no_bpffs(directory, &source))?;
        }
        pins.make()?;
        Ok((pins, lock))
    }

    /// The pins of another filterd that goes on, and a place among them for whoever is about to take its place.
    pub fn beside(directory: &Path) -> Result<(Self, Lock), KernelError> {
        let pins = Self { tables: SUCCESSOR, ..Self::at(directory) };
        let alone = || {
            pins.must_be_ours(directory)?;
            pins.make_ours(SUCCESSOR)?;
            pins.lock(SUCCESSOR)
        };
        // Of several that come at once one is first; for the others the place is taken, or has moved on.
        let lock = alone().map_err(|error| {
            let is_gone = || !pins.directory.join(SUCCESSOR).exists();
            let is_taken = matches!(error, KernelError::Taken(_));
            let has_moved_on = matches!(error, KernelError::NoBpffs { .. }) && is_gone();
            if is_taken || has_moved_on { KernelError::Overtaken } else { error }
        })?;
        // Of one that was killed while it did this.
        let stale = pins.keep_tables(&[]).and_then(|()| remove_pin(&pins.directory.join(NEW_COUNTERS)));
        stale.map_err(|source| KernelError::no_bpffs(directory, &source))?;
        Ok((pins, lock))
    }

    fn at(directory: &Path) -> Self {
        // Without a slash at the end.
        Self { directory: directory.components().collect(), tables: "tables", counters: "counters" }
    }

    /// Counts apart from the filterd before.
    pub fn count_apart(&mut self) {
        self.counters = NEW_COUNTERS;
    }

    /// The other one has gone: what was apart takes its usual place.
    pub fn settle(&mut self) -> Result<Lock, KernelError> {
        let lock = self.lock("")?;
        let usual = Self::at(&self.directory);
        let moved = || {
            usual.keep_tables(&[])?;
            for path in entries(&self.directory.join(SUCCESSOR)) {
                let name = path.file_name().expect("an entry has a name");
                fs::rename(&path, self.directory.join(usual.tables).join(name))?;
            }
            if self.counters() != usual.counters() {
                fs::rename(self.counters(), usual.counters())?;
            }
            fs::remove_dir(self.directory.join(SUCCESSOR))
        };
        moved().map_err(|error| KernelError::load("move the pins", error))?;
        *self = usual;
        Ok(lock)
    }

    /// Removes what was apart, since the other one goes on.
    pub fn forget_successor(&self) -> io::Result<()> {
        if self.tables != SUCCESSOR {
            return Ok(());
        }
        [self.directory.join(NEW_COUNTERS), self.new_root(), self.new_next()]
            .iter()
            .try_for_each(|path| remove_pin(path))?;
        self.clear(SUCCESSOR, |_| true)
    }

    /// Makes what is missing of the directories.
    pub fn make(&self) -> Result<(), KernelError> {
        PARTS.into_iter().try_for_each(|part| self.make_ours(part))
    }

    /// Is any of the directories missing?
    pub fn is_missing(&self) -> bool {
        PARTS.into_iter().any(|part| !self.directory.join(part).exists())
    }

    /// Locks the directory, or a part of it.
    pub fn lock(&self, part: &str) -> Result<Lock, KernelError> {
        let directory = if part.is_empty() { self.directory.clone() } else { self.directory.join(part) };
        Lock::directory(Place::Pins, &directory).map_err(|error| match error {
            NotLocked::Taken(taken) => KernelError::Taken(taken),
            NotLocked::Failed(source) => KernelError::no_bpffs(&self.directory, &source),
        })
    }

    /// The directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The program that stays attached.
    pub fn root(&self) -> PathBuf {
        self.directory.join("root")
    }

    /// The slot it jumps through.
    pub fn next(&self) -> PathBuf {
        self.directory.join("next")
    }

    /// The program that is about to take the root's place.
    pub fn new_root(&self) -> PathBuf {
        self.directory.join("new-root")
    }

    /// Its slot.
    pub fn new_next(&self) -> PathBuf {
        self.directory.join("new-next")
    }

    /// Packets by what became of them.
    pub fn counters(&self) -> PathBuf {
        self.directory.join(self.counters)
    }

    /// The link to one interface.
    pub fn link(&self, interface: &str) -> PathBuf {
        self.directory.join("links").join(pin::of(interface))
    }

    /// All links.
    pub fn links(&self) -> Vec<PathBuf> {
        entries(&self.directory.join("links"))
    }

    /// Gives the pin of a link another name. If there is one of that name, the two exchange their names.
    pub fn rename_link(&self, from: &str, to: &str) -> io::Result<()> {
        let (from, to) = (self.link(from), self.link(to));
        let both = if to.exists() { RenameFlags::RENAME_EXCHANGE } else { RenameFlags::RENAME_NOREPLACE };
        Ok(renameat2(AT_FDCWD, &from, AT_FDCWD, &to, both)?)
    }

    /// One generation of a map.
    pub fn table(&self, MapUse { map, generation }: MapUse) -> PathBuf {
        self.directory.join(self.tables).join(format!("{}-{generation}", map.name()))
    }

    /// The highest generation of a map that is pinned; zero if there is none.
    pub fn latest_generation(&self) -> u64 {
        let generation = |path: PathBuf| path.file_name()?.to_str()?.rsplit_once('-')?.1.parse().ok();
        entries(&self.directory.join(self.tables)).into_iter().filter_map(generation).max().unwrap_or(0)
    }

    /// Is a table of what is blocked pinned, on whatever ports?
    pub fn has_blocked(&self) -> bool {
        let parts = [MapPart::Addresses, MapPart::Networks, MapPart::Levels, MapPart::Six];
        let names = |set| parts.map(|part| MapName { set, part }.name());
        let names: Vec<_> = SetName::blocking().flat_map(names).collect();
        let is_one = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str()?.rsplit_once('-'));
            name.is_some_and(|(name, _)| names.contains(&name))
        };
        entries(&self.directory.join(self.tables)).iter().any(is_one)
    }

    /// Which version the root is of that is pinned with its slot.
    pub fn root_version(&self) -> io::Result<Option<String>> {
        if !self.root().exists() || !self.next().exists() {
            return Ok(None);
        }
        // One that says nothing is of a version before versions.
        Ok(Some(self.versions().next().map_or_else(String::new, |(version, _)| version)))
    }

    /// Is it noted that the root is of this version?
    pub fn has_version(&self, version: &str) -> bool {
        self.directory.join(format!("{VERSION}{version}")).exists()
    }

    /// Notes the version of the root that is about to be pinned.
    pub fn set_root_version(&self, version: &str) -> io::Result<()> {
        self.versions().try_for_each(|(_, path)| fs::remove_dir(path))?;
        fs::create_dir(self.directory.join(format!("{VERSION}{version}")))
    }

    /// Lets the new root and its slot take the places of the old ones.
    pub fn promote_root(&self, version: &str) -> io::Result<()> {
        fs::rename(self.new_next(), self.next())?;
        fs::rename(self.new_root(), self.root())?;
        self.set_root_version(version)
    }

    /// Removes the pins of all tables but these.
    pub fn keep_tables(&self, keep: &[PathBuf]) -> io::Result<()> {
        let tables = entries(&self.directory.join(self.tables)).into_iter();
        tables.filter(|path| !keep.contains(path)).try_for_each(fs::remove_file)
    }

    /// Removes the pin of one table, if it is there.
    pub fn forget_table(&self, map: MapUse) -> io::Result<()> {
        remove_pin(&self.table(map))
    }

    /// Removes the root program and all that hangs on it, so that a new one can take its place.
    pub fn forget_root(&self) -> io::Result<()> {
        [self.root(), self.next(), self.counters()].iter().try_for_each(|path| remove_pin(path))?;
        self.keep_tables(&[])
    }

    /// What belongs to somebody else, or can be written by somebody else, is not trusted.
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

    fn versions(&self) -> impl Iterator<Item = (String, PathBuf)> {
        entries(&self.directory).into_iter().filter_map(|path| {
            let version = path.file_name()?.to_str()?.strip_prefix(VERSION)?.to_owned();
            Some((version, path))
        })
    }

    fn make_ours(&self, part: &str) -> Result<(), KernelError> {
        // With a slash at its end a link would be followed before it is seen.
        let path = if part.is_empty() { self.directory.clone() } else { self.directory.join(part) };
        // What somebody else has laid there is told before it is looked into: it may lead anywhere.
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
    // Not if somebody has put something there.
    _ = fs::remove_dir(path);
    Err(io::Error::other("it is on another kind of file system"))
}

fn is_bpffs(path: &Path) -> io::Result<bool> {
    Ok(statfs(path)?.filesystem_type() == BPF_FS_MAGIC)
}

/// Removes a pin, if it is there. A directory of that name is none of ours.
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

/// Containers and small systems come without it. Where that fails, making the directory tells why.
fn mount_where_usual(directory: &Path) {
    let usual = Path::new("/sys/fs/bpf");
    let is_mounted = statfs(usual).is_ok_and(|kind| kind.filesystem_type() == BPF_FS_MAGIC);
    if directory.starts_with(usual) && !is_mounted {
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
        // Else it would be everybody's: whoever takes the name of the pins first keeps filterd from starting.
        _ = mount(Some("bpf"), usual, Some("bpf"), flags, Some("mode=0700"));
    }
}
