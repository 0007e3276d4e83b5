//! Opens files that an operator named, but only plain files: other kinds could block forever, or act when
//! opened.

use std::fs::{File, FileType, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::fcntl::OFlag;

use super::permission;
use crate::text::{Explain, printable};

/// Opens a plain file for reading.
///
/// # Errors
/// If it does not exist, may not be read, or is not a plain file.
pub fn open(path: &Path) -> Result<File, FileError> {
    require_plain(path, &std::fs::metadata(path).map_err(|error| FileError::new(path, error))?)?;
    // The file may have been replaced in the meantime, so this does not block, and the kind is checked again.
    let flags = OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits()).open(path);
    let file = file.map_err(|error| FileError::new(path, error))?;
    require_plain(path, &file.metadata().map_err(|error| FileError::new(path, error))?)?;
    Ok(file)
}

fn require_plain(path: &Path, metadata: &Metadata) -> Result<(), FileError> {
    if metadata.is_file() {
        return Ok(());
    }
    Err(FileError::NotPlain { path: path.into(), kind: kind(metadata.file_type()) })
}

fn kind(file_type: FileType) -> &'static str {
    if file_type.is_dir() {
        "a directory"
    } else if file_type.is_fifo() {
        "a FIFO"
    } else if file_type.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

/// The reason why a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// There is no such file.
    #[error("{}: there is no such file", printable::path(path))]
    Missing {
        /// The path that was tried.
        path: PathBuf,
    },
    /// The file may not be read.
    #[error("{}: permission denied", printable::path(path))]
    Denied {
        /// The path of the file.
        path: PathBuf,
    },
    /// The path is not a plain file.
    #[error("{}: this is {kind}, not a plain file", printable::path(path))]
    NotPlain {
        path: PathBuf,
        /// The kind of file it is.
        kind: &'static str,
    },
    /// A folder with too many files for a list.
    #[error("{}: has more than {most} files", printable::path(path))]
    TooMany {
        path: PathBuf,
        /// The limit for files of one list.
        most: usize,
    },
    /// The file is longer than its kind may be.
    #[error("{}: has more than {most} bytes", printable::path(path))]
    TooLarge {
        path: PathBuf,
        /// The limit in bytes.
        most: u64,
    },
    /// The file system, perhaps a network server, does not respond.
    #[error("{}: has not answered for {waited:?}", printable::path(path))]
    Silent {
        path: PathBuf,
        /// The time without a response.
        waited: Duration,
    },
    /// The file exists, but its content is not usable.
    #[error("{}: {why}", printable::path(path))]
    Unusable {
        path: PathBuf,
        /// The reason, as part of a sentence.
        why: String,
        /// The remedy for the operator.
        remedy: String,
    },
    /// The thread that was to read it panicked.
    #[error("{}: cannot be read: this is a fault in filterd itself", printable::path(path))]
    Broken {
        /// The path of the file.
        path: PathBuf,
    },
    /// Another error, described by the system.
    #[error("{}: cannot be read: {source}", printable::path(path))]
    Unreadable {
        path: PathBuf,
        /// The error of the system call.
        source: io::Error,
    },
}

impl Explain for FileError {
    fn remedy(&self) -> Option<String> {
        match self {
            Self::Denied { path } => Some(permission::mend(path)),
            Self::Silent { .. } => Some("check the file system it is on".to_owned()),
            Self::Unusable { remedy, .. } => Some(remedy.clone()),
            Self::TooMany { .. } => Some(
                "move some of them into another folder and define it as another list, or merge them into fewer files"
                    .to_owned(),
            ),
            Self::Broken { .. } => Some(
                "please report it with this file and the line of the log that says \"a fault in filterd itself\"".to_owned(),
            ),
            Self::Missing { .. }
            | Self::NotPlain { .. }
            | Self::TooLarge { .. }
            | Self::Unreadable { .. } => None,
        }
    }
}

impl FileError {
    /// Makes the most specific error for a system error.
    #[must_use]
    pub fn new(path: &Path, source: io::Error) -> Self {
        let path = path.into();
        if source.kind() == io::ErrorKind::NotFound {
            Self::Missing { path }
        } else if source.kind() == io::ErrorKind::PermissionDenied {
            Self::Denied { path }
        } else {
            Self::Unreadable { path, source }
        }
    }
}

#[cfg(test)]
mod tests {
    use nix::sys::stat::Mode;

    use super::*;

    fn told(path: &Path) -> String {
        open(path).expect_err("no plain file").to_string()
    }

    #[test]
    fn other_file_kinds_are_refused_without_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("fifo");
        nix::unistd::mkfifo(&fifo, Mode::S_IRWXU).unwrap();
        assert!(told(&fifo).ends_with("this is a FIFO, not a plain file"));
        assert!(told(folder.path()).ends_with("this is a directory, not a plain file"));
        assert!(told(Path::new("/dev/zero")).ends_with("this is a device, not a plain file"));
    }

    #[test]
    fn missing_file_is_reported_with_path() {
        assert_eq!(told(Path::new("/nowhere/drop.txt")), "/nowhere/drop.txt: there is no such file");
    }

    #[test]
    fn unreadable_file_is_reported_with_remedy() {
        let error = FileError::new(Path::new("drop.txt"), io::ErrorKind::PermissionDenied.into());
        assert_eq!(error.to_string(), "drop.txt: permission denied");
        assert!(error.remedy().is_some_and(|remedy| remedy.starts_with("let user ")));
    }

    #[test]
    fn paths_are_printed_safely() {
        let told = told(Path::new("/no\x1b[2J\n\u{202e}where"));
        assert_eq!(told, "/no\\u{1b}[2J\\n\\u{202e}where: there is no such file");
    }

    #[test]
    fn path_with_zero_byte_is_an_error() {
        assert!(told(Path::new("a\0b")).contains("cannot be read"));
    }
}
