//! Where programs, maps and links are pinned, so that they outlive the daemon.
//!
//! `root`, `next` and `counters` stay as long as filterd is attached anywhere, and an empty directory says which version
//! the root is of; `links/` has one pin an interface, and `tables/` those of the maps in use, numbered by generation.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
use nix::mount::{MsFlags, mount};
use nix::sys::statfs::{BPF_FS_MAGIC, statfs};
use nix::unistd::geteuid;

use super::super::KernelError;
use super::request::MapUse;

/// The directory of one daemon's pins.
#[derive(Clone, Debug)]
pub struct Pins {
    directory: PathBuf,
}

/// Whoever can write to a pin can remove the firewall.
const OWNER_ONLY: u32 = 0o700;

const VERSION: &str = "version-";

impl Pins {
    /// Makes the directory, and mounts the BPF file system where it usually is if it is not.
    pub fn open(directory: &Path) -> Result<Self, KernelError> {
        let pins = Self { directory: directory.to_owned() };
        mount_where_usual(directory);
        for part in ["", "links", "tables"] {
            let path = directory.join(part);
            pins.make(&path).map_err(|source| KernelError::no_bpffs(directory, &source))?;
            pins.must_be_ours(&path)?;
        }
        Ok(pins)
    }

    /// The same directory, if filterd has ever made it.
    pub fn find(directory: &Path) -> Result<Option<Self>, KernelError> {
        let pins = Self { directory: directory.to_owned() };
        if !directory.exists() {
            return Ok(None);
        }
        pins.must_be_ours(directory)?;
        Ok(Some(pins))
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
        self.directory.join("counters")
    }

    /// The link to one interface.
    pub fn link(&self, interface: &str) -> PathBuf {
        self.directory.join("links").join(interface)
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
        self.directory.join("tables").join(format!("{}-{generation}", map.name()))
    }

    /// The highest generation of a map that is pinned; zero if there is none.
    pub fn latest_generation(&self) -> u64 {
        let generation = |path: PathBuf| path.file_name()?.to_str()?.rsplit_once('-')?.1.parse().ok();
        entries(&self.directory.join("tables")).into_iter().filter_map(generation).max().unwrap_or(0)
    }

    /// Which version the root is of that is pinned with its slot.
    pub fn root_version(&self) -> io::Result<Option<String>> {
        if !self.root().exists() || !self.next().exists() {
            return Ok(None);
        }
        // One that says nothing is of a version before versions.
        Ok(Some(self.versions().next().map_or_else(String::new, |(version, _)| version)))
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
        let tables = entries(&self.directory.join("tables")).into_iter();
        tables.filter(|path| !keep.contains(path)).try_for_each(fs::remove_file)
    }

    /// Removes the pin of one table, if it is there.
    pub fn forget_table(&self, map: MapUse) -> io::Result<()> {
        remove(&self.table(map))
    }

    /// Removes the root program and all that hangs on it, so that a new one can take its place.
    pub fn forget_root(&self) -> io::Result<()> {
        [self.root(), self.next(), self.counters()].iter().try_for_each(|path| remove(path))?;
        self.keep_tables(&[])
    }

    /// Removes everything, and with the last pin of a link its attachment.
    pub fn remove(&self) -> io::Result<()> {
        fs::remove_dir_all(&self.directory)
    }

    /// What belongs to somebody else, or can be written by somebody else, is not trusted.
    pub fn must_be_ours(&self, path: &Path) -> Result<(), KernelError> {
        let found =
            fs::symlink_metadata(path).map_err(|source| KernelError::no_bpffs(&self.directory, &source))?;
        let ours = geteuid().as_raw();
        let why = if found.uid() != ours {
            format!("it belongs to user {}, and filterd runs as user {ours}", found.uid())
        } else if found.mode() & 0o077 != 0 {
            format!("others than its owner may use it (mode {:04o})", found.mode() & 0o7777)
        } else {
            return Ok(());
        };
        Err(KernelError::Untrusted { path: path.to_owned(), why, pins: self.directory.clone() })
    }

    fn versions(&self) -> impl Iterator<Item = (String, PathBuf)> {
        entries(&self.directory).into_iter().filter_map(|path| {
            let version = path.file_name()?.to_str()?.strip_prefix(VERSION)?.to_owned();
            Some((version, path))
        })
    }

    fn make(&self, path: &Path) -> io::Result<()> {
        match DirBuilder::new().mode(OWNER_ONLY).create(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            other => other,
        }?;
        match statfs(path)?.filesystem_type() {
            BPF_FS_MAGIC => Ok(()),
            _ => {
                _ = fs::remove_dir(path);
                Err(io::Error::other("it is on another kind of file system"))
            }
        }
    }
}

/// Removes a pin, if it is there.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
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
