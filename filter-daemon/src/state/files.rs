//! Files of the state directory: their names, sizes and errors.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;
use nix::unistd::geteuid;

/// The file extension of an unfinished file.
pub const UNFINISHED: &str = "new";

/// The reason why there is no copy, or no usable one.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The file does not match its digest.
    #[error("its copy is damaged")]
    Damaged,
    /// All copies together would be too large.
    #[error("the copies of all lists would take more than {} MiB", .most >> 20)]
    Full {
        /// The limit in bytes.
        most: u64,
    },
    /// The file that it would be made from is gone.
    #[error("it has to be read again")]
    Gone,
    /// A system call failed.
    #[error("{}: {source}", crate::text::printable::path(path))]
    System {
        /// The file or directory.
        path: PathBuf,
        source: io::Error,
    },
}

impl CopyError {
    pub fn system(path: &Path, source: io::Error) -> Self {
        Self::System { path: path.to_owned(), source }
    }

    /// An equal error for another list.
    pub fn again(&self) -> Self {
        match self {
            Self::Damaged => Self::Damaged,
            Self::Full { most } => Self::Full { most: *most },
            Self::Gone => Self::Gone,
            Self::System { path, source } => {
                let number = source.raw_os_error();
                let source = number.map_or_else(|| source.kind().into(), io::Error::from_raw_os_error);
                Self::System { path: path.clone(), source }
            }
        }
    }
}

pub fn files_in(directory: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.path()))
}

/// The total size of all files in this directory.
pub fn taken_in(directory: &Path) -> u64 {
    files_in(directory).filter_map(|path| Some(fs::metadata(path).ok()?.len())).sum()
}

pub fn is_unfinished(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == UNFINISHED)
}

/// Opens a file that no other user can have written, without following a link, because a link's target is
/// not ours. Root may read what belongs to the daemon's user.
pub fn open(path: &Path) -> io::Result<File> {
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits()).open(path)?;
    let about = file.metadata()?;
    let is_ours = about.uid() == 0 || about.uid() == geteuid().as_raw() || geteuid().is_root();
    if about.is_file() && is_ours && about.mode() & 0o022 == 0 {
        Ok(file)
    } else {
        Err(io::Error::other("others than root could have written it"))
    }
}
