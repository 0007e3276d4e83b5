//! The socket's file: claims the path, opens it to its group, and removes it at the end.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::unistd::{Gid, Uid};
use thiserror::Error;
use tokio::net::UnixListener;

use super::handle::FileHandle;
use crate::accounts;
use crate::clock;
use crate::lock::{Lock, LockedPlace, NotLocked, PlaceInUse};
use crate::text::{Explain, printable};

/// Members of this group may send requests to the daemon.
pub const GROUP: &str = "filterd";

/// Why the daemon cannot listen at this path.
#[derive(Debug, Error)]
pub enum SocketError {
    #[error(transparent)]
    Taken(#[from] PlaceInUse),
    /// A file that is no socket exists there.
    #[error("{} exists and is not a socket", printable::path(.0))]
    NoSocket(PathBuf),
    /// The file system refused.
    #[error("cannot {what} {}: {error}", printable::path(path))]
    Failed {
        what: &'static str,
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
}

impl Explain for SocketError {
    fn remedy(&self) -> Option<String> {
        let remedy = match self {
            Self::Taken(taken) => return taken.remedy(),
            Self::NoSocket(_) => "move it away, or choose another --socket",
            Self::Failed { error, .. } if error.kind() == ErrorKind::PermissionDenied => {
                "start filterd as root (`sudo filterd --iface eth0`), or pass --socket, --state-dir and --pin-dir in places its user may write to"
            }
            Self::Failed { .. } => return None,
        };
        Some(remedy.to_owned())
    }
}

/// A claimed path. Dropping it removes the socket's file.
pub struct SocketFile {
    path: PathBuf,
    /// Device and inode of the file, so that no other file is removed.
    identity: (u64, u64),
    /// The group whose members may send requests.
    group: u32,
    /// Held as long as this daemon lives, and released by the kernel even if it is killed.
    claim: Lock,
}

/// A socket that listens at a path which is not claimed yet.
struct BoundSocket {
    listener: UnixListener,
    identity: (u64, u64),
    group: u32,
}

/// How often to try a path that a daemon is leaving.
const AGAIN: Duration = Duration::from_millis(1);

impl SocketFile {
    /// Listens at `path`, unless another daemon does. Needs a tokio runtime.
    pub fn listen(path: &Path) -> Result<(Self, UnixListener), SocketError> {
        make_parent(path).map_err(failed("create the directory of", path))?;
        let claim = claim(path)?;
        remove_stale(path)?;
        Ok(BoundSocket::bind(path)?.claimed(path, claim))
    }

    /// Listens at `path` in place of a daemon that is ending, and waits for its claim. There is a socket at the
    /// path at every moment, and clients that connect to this one wait for it.
    pub async fn replace(path: &Path, patience: Duration) -> Result<(Self, UnixListener), SocketError> {
        let new = named_beside(path, ".new");
        // Left by a daemon that was killed here.
        remove_stale(&new)?;
        let bound = BoundSocket::bind(&new)?;
        fs::rename(&new, path).map_err(failed("listen at", path))?;
        let begun = clock::instant();
        loop {
            match claim(path) {
                Err(SocketError::Taken(_)) if begun.elapsed() < patience => tokio::time::sleep(AGAIN).await,
                claim => return Ok(bound.claimed(path, claim?)),
            }
        }
    }

    /// The locked file of the claim.
    pub fn share(&self) -> io::Result<File> {
        self.claim.share()
    }

    /// The group whose members may send requests.
    pub fn group(&self) -> u32 {
        self.group
    }
}

impl BoundSocket {
    fn bind(path: &Path) -> Result<Self, SocketError> {
        let listener = UnixListener::bind(path).map_err(failed("listen at", path))?;
        open_to_group(path).map_err(failed("set owner and mode of", path))?;
        let file = fs::symlink_metadata(path).map_err(failed("look at", path))?;
        Ok(Self { listener, identity: (file.dev(), file.ino()), group: file.gid() })
    }

    fn claimed(self, path: &Path, claim: Lock) -> (SocketFile, UnixListener) {
        let Self { listener, identity, group } = self;
        (SocketFile { path: path.to_owned(), identity, group, claim }, listener)
    }
}

/// Makes the error for a call that failed on this path.
fn failed(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> SocketError {
    move |error| SocketError::Failed { what, path: path.to_owned(), error }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let ours = |file: fs::Metadata| (file.dev(), file.ino()) == self.identity;
        if fs::symlink_metadata(&self.path).is_ok_and(ours) {
            // If it cannot be removed, the next daemon finds it stale and removes it.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Creates the missing directories, accessible to all, because the socket's own mode decides who may connect.
fn make_parent(path: &Path) -> io::Result<()> {
    let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty() && !parent.exists())
    else {
        return Ok(());
    };
    fs::create_dir_all(parent)?;
    FileHandle::of_our_directory(parent)?.set_mode(0o755)
}

/// Locks a file beside the socket, so that of two daemons that start at once one fails.
fn claim(path: &Path) -> Result<Lock, SocketError> {
    let lock = lock_of(path);
    match Lock::file(open_lock(&lock).map_err(failed("open", &lock))?) {
        Ok(Some(claim)) => Ok(claim),
        Ok(None) => Err(taken(path)),
        Err(NotLocked::Taken(taken)) => Err(taken.into()),
        Err(NotLocked::Failed(error)) => Err(failed("lock", &lock)(error)),
    }
}

fn lock_of(path: &Path) -> PathBuf {
    named_beside(path, ".lock")
}

fn named_beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

/// The error without its holder. Finding the holder takes long, so that only a start that gives up does it.
fn taken(path: &Path) -> SocketError {
    PlaceInUse { place: LockedPlace::Socket, path: path.to_owned(), holder: None }.into()
}

/// Adds the holder to the error.
pub fn told_by_whom(error: SocketError) -> SocketError {
    match error {
        SocketError::Taken(PlaceInUse { place, path, holder: None }) => {
            PlaceInUse::by_holder_of(&lock_of(&path), place, &path).into()
        }
        error @ (SocketError::Taken(_) | SocketError::NoSocket(_) | SocketError::Failed { .. }) => error,
    }
}

/// Opens the lock file without following links or blocking, because in a directory of others anyone may have
/// put something there.
fn open_lock(path: &Path) -> io::Result<File> {
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    let mut how = OpenOptions::new();
    how.create(true).truncate(false).read(true).write(true).mode(0o600).custom_flags(flags.bits());
    let file = how.open(path)?;
    let found = file.metadata()?;
    if !found.is_file() || found.nlink() != 1 {
        return Err(io::Error::other("it is not the file that filterd creates"));
    }
    Ok(file)
}

/// Removes the socket that a killed daemon left behind, and no other file.
fn remove_stale(path: &Path) -> Result<(), SocketError> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed("look at", path)(error)),
        Ok(file) if !file.file_type().is_socket() => return Err(SocketError::NoSocket(path.to_owned())),
        Ok(_) => {}
    }
    match accounts::or_as_owner_of(path, || UnixStream::connect(path)) {
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
            fs::remove_file(path).map_err(failed("remove the stale", path))
        }
        // A process listens there, whether it answers or is too busy.
        _ => Err(taken(path)),
    }
}

/// Gives the socket to the group, if it exists, and then opens it to the group.
fn open_to_group(path: &Path) -> io::Result<()> {
    let socket = FileHandle::of_our_socket(path)?;
    match accounts::group(GROUP) {
        Ok(Some(group)) => give_to(&socket, path, group)?,
        Ok(None) => tracing::debug!("there is no group {GROUP}: only root can use the control socket"),
        Err(error) => tracing::warn!("cannot look up the group {GROUP}: {error}"),
    }
    socket.set_mode(0o660)
}

fn give_to(socket: &FileHandle, path: &Path, group: Gid) -> io::Result<()> {
    match socket.give(None, Some(group)) {
        Err(error @ (Errno::EPERM | Errno::EACCES)) => {
            tracing::warn!("cannot give {} to the group {GROUP}: {error}", printable::path(path));
            Ok(())
        }
        given => Ok(given?),
    }
}

/// Makes this user the owner of the listening socket.
pub fn give_socket(path: &Path, user: Uid) -> io::Result<()> {
    // A rehearsal finds the socket of the running daemon, which belongs to this user already.
    Ok(FileHandle::of_socket_for(path, user)?.give(Some(user), None)?)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn listen(path: &Path) -> Result<(SocketFile, UnixListener), SocketError> {
        SocketFile::listen(path)
    }

    #[tokio::test]
    async fn socket_has_group_and_ends_with_daemon() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("new/run/control.sock");
        let (file, _listener) = listen(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o660);
        assert_eq!(fs::metadata(path.parent().unwrap()).unwrap().mode() & 0o777, 0o755);
        drop(file);
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn a_second_daemon_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("control.sock");
        let first = listen(&path).unwrap();
        assert!(matches!(listen(&path), Err(SocketError::Taken(_))));
        drop(first);
        listen(&path).unwrap();
    }

    #[tokio::test]
    async fn second_of_two_simultaneous_daemons_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("control.sock");
        let _first = listen(&path).unwrap();
        // The state after the first has claimed its place, and before it binds its socket.
        fs::remove_file(&path).unwrap();
        assert!(matches!(listen(&path), Err(SocketError::Taken(_))));
    }

    #[tokio::test]
    async fn socket_of_killed_daemon_is_replaced() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("control.sock");
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        listen(&path).unwrap();
    }

    #[tokio::test]
    async fn foreign_sockets_and_files_are_kept() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("control.sock");
        let foreign = std::os::unix::net::UnixListener::bind(&path).unwrap();
        assert!(matches!(listen(&path), Err(SocketError::Taken(_))));
        drop(foreign);
        let path = place.path().join("file");
        fs::write(&path, "precious").unwrap();
        assert!(matches!(listen(&path), Err(SocketError::NoSocket(_))));
        assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
    }

    #[tokio::test]
    async fn replaced_socket_is_not_removed() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("control.sock");
        let (file, _listener) = listen(&path).unwrap();
        fs::rename(&path, place.path().join("elsewhere")).unwrap();
        let _successor = std::os::unix::net::UnixListener::bind(&path).unwrap();
        drop(file);
        assert!(path.exists());
    }

    #[tokio::test]
    async fn the_lock_is_not_made_through_a_link() {
        let place = tempfile::tempdir().unwrap();
        let (path, secret) = (place.path().join("control.sock"), place.path().join("secret"));
        std::os::unix::fs::symlink(&secret, place.path().join("control.sock.lock")).unwrap();
        assert!(matches!(listen(&path), Err(SocketError::Failed { what: "open", .. })));
        assert!(!secret.exists() && !path.exists());
        // A file with another name elsewhere is refused as well.
        fs::remove_file(place.path().join("control.sock.lock")).unwrap();
        fs::write(&secret, "").unwrap();
        fs::hard_link(&secret, place.path().join("control.sock.lock")).unwrap();
        assert!(matches!(listen(&path), Err(SocketError::Failed { what: "open", .. })));
    }

    #[tokio::test]
    async fn only_the_socket_gets_owner_and_mode() {
        let place = tempfile::tempdir().unwrap();
        let (path, secret) = (place.path().join("control.sock"), place.path().join("secret"));
        fs::write(&secret, "").unwrap();
        fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
        // Another user owns the socket's directory, and puts a link in its place once it is bound.
        std::os::unix::fs::symlink(&secret, &path).unwrap();
        assert!(open_to_group(&path).is_err() && give_socket(&path, Uid::from_raw(65534)).is_err());
        let found = fs::metadata(&secret).unwrap();
        assert_eq!((found.mode() & 0o777, found.uid()), (0o600, nix::unistd::geteuid().as_raw()));
    }
}
