//! Where programs, maps and links are pinned, so that they outlive the daemon.
//!
//! `root`, `next` and `counters` stay as long as filterd is attached anywhere, `links/` has one pin an interface, and
//! `tables/` those of the maps in use, numbered by generation.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use nix::mount::{MsFlags, mount};
use nix::sys::statfs::{BPF_FS_MAGIC, statfs};

use super::KernelError;

/// The directory of one daemon's pins.
#[derive(Clone, Debug)]
pub struct Pins {
    directory: PathBuf,
}

/// Whoever can write to a pin can remove the firewall.
const OWNER_ONLY: u32 = 0o700;

impl Pins {
    /// Makes the directory, and mounts the BPF file system where it usually is if it is not.
    pub fn open(directory: &Path) -> Result<Self, KernelError> {
        let pins = Self { directory: directory.to_owned() };
        mount_where_usual(directory);
        let made = ["", "links", "tables"].iter().try_for_each(|part| pins.make(&directory.join(part)));
        made.map_err(|source| KernelError::NoBpffs { path: directory.to_owned(), source })?;
        Ok(pins)
    }

    /// The program that stays attached.
    pub fn root(&self) -> PathBuf {
        self.directory.join("root")
    }

    /// The slot it jumps through.
    pub fn next(&self) -> PathBuf {
        self.directory.join("next")
    }

    /// Packets by reason.
    pub fn counters(&self) -> PathBuf {
        self.directory.join("counters")
    }

    /// The link to one interface.
    pub fn link(&self, interface: &str) -> PathBuf {
        self.directory.join("links").join(interface)
    }

    /// One generation of a map.
    pub fn table(&self, name: &str, generation: u64) -> PathBuf {
        self.directory.join("tables").join(format!("{name}-{generation}"))
    }

    /// The highest generation of a map that is pinned; zero if there is none.
    pub fn latest_generation(&self) -> u64 {
        let names = fs::read_dir(self.directory.join("tables")).into_iter().flatten().flatten();
        let generation = |entry: fs::DirEntry| entry.file_name().to_str()?.rsplit_once('-')?.1.parse().ok();
        names.filter_map(generation).max().unwrap_or(0)
    }

    /// Removes the pins of all tables but these.
    pub fn keep_tables(&self, keep: &[PathBuf]) -> io::Result<()> {
        for entry in fs::read_dir(self.directory.join("tables"))? {
            let path = entry?.path();
            if !keep.contains(&path) {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }

    /// Removes the root program and all that hangs on it, so that a new one can take its place.
    pub fn forget_root(&self) -> io::Result<()> {
        for path in [self.root(), self.next(), self.counters()] {
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        self.keep_tables(&[])
    }

    /// Removes everything, and with the last pin of a link its attachment.
    pub fn remove(&self) -> io::Result<()> {
        fs::remove_dir_all(&self.directory)
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

/// Containers and small systems come without it. Where that fails, making the directory tells why.
fn mount_where_usual(directory: &Path) {
    let usual = Path::new("/sys/fs/bpf");
    let is_mounted = statfs(usual).is_ok_and(|kind| kind.filesystem_type() == BPF_FS_MAGIC);
    if directory.starts_with(usual) && !is_mounted {
        _ = mount(Some("bpf"), usual, Some("bpf"), MsFlags::empty(), None::<&str>);
    }
}
