//! Files laid out as they will lie where they are unpacked: each with its mode, and none with another time than the commit's.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};

use super::make_directory;

/// A directory that is about to be packed.
pub struct Staged {
    pub root: PathBuf,
}

impl Staged {
    pub fn new(root: PathBuf) -> Result<Self> {
        make_directory(&root)?;
        Ok(Self { root })
    }

    /// A file of the tree, or the binary.
    pub fn copy(&self, from: &Path, to: &str, mode: u32) -> Result<()> {
        let bytes = fs::read(from).with_context(|| format!("cannot read {}", from.display()))?;
        self.write(&bytes, to, mode)
    }

    pub fn write(&self, bytes: &[u8], to: &str, mode: u32) -> Result<()> {
        let path = self.root.join(to);
        make_directory(path.parent().context("a file lies in a directory")?)?;
        fs::write(&path, bytes)
            .and_then(|()| fs::set_permissions(&path, Permissions::from_mode(mode)))
            .with_context(|| format!("cannot write {}", path.display()))
    }

    /// All files, in the order of their names.
    pub fn files(&self) -> Result<Vec<PathBuf>> {
        files_below(&self.root)
    }

    /// Everything is as old as the commit, and every directory is open to all, whatever the umask is.
    pub fn settle(&self, seconds: u64) -> Result<()> {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        visit(&self.root, &mut |path| {
            let opened = File::open(path).and_then(|file| {
                if path.is_dir() {
                    file.set_permissions(Permissions::from_mode(0o755))?;
                }
                file.set_modified(time)
            });
            opened.with_context(|| format!("cannot settle {}", path.display()))
        })
    }
}

/// All files of a directory and below, in the order of their names; a file is its own.
pub fn files_below(path: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    visit(path, &mut |path| {
        if path.is_file() {
            files.push(path.to_owned());
        }
        Ok(())
    })?;
    files.sort();
    Ok(files)
}

/// A directory after what lies in it.
fn visit(path: &Path, see: &mut impl FnMut(&Path) -> Result<()>) -> Result<()> {
    if path.is_dir() {
        for entry in fs::read_dir(path).with_context(|| format!("cannot list {}", path.display()))? {
            visit(&entry?.path(), see)?;
        }
    }
    see(path)
}
