//! Identifies the holder of a lock from /proc, for processes that this one may inspect.

use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::io::ErrorKind::NotFound;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::sys::stat::{major, minor};
use serde::{Deserialize, Serialize};

/// The process that uses a place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The ID of the process.
    pub pid: u32,
    /// The socket at which it listens, if known.
    pub socket: Option<PathBuf>,
    /// Its command name in the kernel.
    name: String,
    /// True for a broker whose daemon is gone and that is ending.
    is_orphaned: bool,
}

/// The command name of a broker, which works for its parent process.
const BROKER: &str = "filterd-broker";

impl Holder {
    /// The process that has this file or directory open and locked.
    pub fn of(path: &Path) -> Option<Self> {
        let file = fs::metadata(path).ok()?;
        let identity = (file.dev(), file.ino());
        let pid = processes().find(|pid| holds(*pid, identity)).or_else(|| has_locked(identity))?;
        let is_broker = name(pid) == BROKER;
        // An orphan gets another parent, which is not filterd.
        let owner = parent(pid).filter(|parent| is_broker && runs_the_same(*parent, pid));
        let is_orphaned = is_broker && owner.is_none();
        let pid = owner.unwrap_or(pid);
        let socket = listens_at(pid).or_else(|| told_to_listen_at(pid));
        Some(Self { pid, socket, name: name(pid), is_orphaned })
    }

    /// True if its socket was removed, so that no client can reach it.
    pub fn has_lost_its_socket(&self) -> bool {
        let is_gone =
            |path: &PathBuf| fs::symlink_metadata(path).is_err_and(|error| error.kind() == NotFound);
        self.socket.as_ref().is_some_and(is_gone)
    }

    /// True if its daemon is gone and it is about to end.
    pub fn is_orphaned(&self) -> bool {
        self.is_orphaned
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let another = if self.name.starts_with("filterd") { "another filterd" } else { self.name.as_str() };
        write!(f, "{another} (process {}", self.pid)?;
        match self.socket.as_ref().filter(|_| !self.has_lost_its_socket()) {
            Some(socket) => write!(f, ", which listens at {})", crate::text::printable::path(socket)),
            None => f.write_str(")"),
        }
    }
}

fn processes() -> impl Iterator<Item = u32> {
    let listed = fs::read_dir("/proc").into_iter().flatten().flatten();
    listed.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// The kernel shows a lock with each descriptor of the open file that it was taken through.
fn holds(pid: u32, identity: (u64, u64)) -> bool {
    let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    open.map(|entry| entry.file_name()).any(|number| {
        let number = number.to_string_lossy();
        fs::metadata(format!("/proc/{pid}/fd/{number}"))
            .is_ok_and(|file| (file.dev(), file.ino()) == identity)
            && fs::read_to_string(format!("/proc/{pid}/fdinfo/{number}"))
                .is_ok_and(|told| told.lines().any(|line| line.starts_with("lock:")))
    })
}

/// The process that locked it, by /proc/locks. The kernel shows this even if the process cannot be
/// inspected, as under Landlock.
fn has_locked(identity: (u64, u64)) -> Option<u32> {
    let locks = fs::read_to_string("/proc/locks").ok()?;
    locks.lines().find_map(|line| locked(line, identity)).filter(|pid| !name(*pid).is_empty())
}

/// Parses a line of /proc/locks: the process, if the line is about this file.
fn locked(line: &str, (device, inode): (u64, u64)) -> Option<u32> {
    let fields: Vec<_> = line.split_whitespace().collect();
    let place = format!("{:02x}:{:02x}:{inode}", major(device), minor(device));
    let [_, "FLOCK", _, _, pid, found, ..] = fields[..] else { return None };
    pid.parse().ok().filter(|_| found == place)
}

fn name(pid: u32) -> String {
    fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim_end().to_owned()
}

/// True if the process runs the same program as the broker, even if its file has another name.
fn runs_the_same(pid: u32, broker: u32) -> bool {
    let program = |pid| fs::metadata(format!("/proc/{pid}/exe")).map(|file| (file.dev(), file.ino())).ok();
    name(pid).starts_with("filterd") || program(broker).is_some_and(|its| program(pid) == Some(its))
}

fn parent(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("PPid:")?.trim().parse().ok())
}

/// The path of the first socket at which the process listens.
fn listens_at(pid: u32) -> Option<PathBuf> {
    let sockets = fs::read_to_string(format!("/proc/{pid}/net/unix")).ok()?;
    let open = fs::read_dir(format!("/proc/{pid}/fd")).ok()?.flatten();
    let own: Vec<_> = open
        .filter_map(|entry| fs::read_link(entry.path()).ok()?.to_str().map(ToOwned::to_owned))
        .filter_map(|target| Some(target.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned()))
        .collect();
    sockets
        .lines()
        .find_map(|line| listening(line).filter(|(number, _)| own.contains(number)))
        .map(|(_, path)| path)
}

/// The socket from its command line, for processes whose descriptors cannot be read.
fn told_to_listen_at(pid: u32) -> Option<PathBuf> {
    let words = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    said_socket(&words).filter(|path| fs::symlink_metadata(path).is_ok())
}

/// The last `--socket` of a command line, if its path is absolute.
fn said_socket(words: &[u8]) -> Option<PathBuf> {
    let words: Vec<_> = words.split(|byte| *byte == 0).map(OsStr::from_bytes).map(Path::new).collect();
    let mut said = words.windows(2).filter(|pair| pair[0] == Path::new("--socket")).map(|pair| pair[1]);
    said.next_back().filter(|path| path.is_absolute()).map(Path::to_owned)
}

/// Parses a line of /proc/net/unix: the inode and path of a listening socket. The flag is `__SO_ACCEPTCON`.
fn listening(line: &str) -> Option<(String, PathBuf)> {
    let (mut fields, mut rest) = (Vec::new(), line);
    for _ in 0..7 {
        let (field, behind) = rest.trim_start().split_once(' ')?;
        fields.push(field);
        rest = behind;
    }
    (fields[3] == "00010000" && rest.starts_with('/')).then(|| (fields[6].to_owned(), PathBuf::from(rest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listening_socket_is_parsed() {
        let line = "0000000000000000: 00000002 00000000 00010000 0001 01 24601 /run/with blank/control.sock";
        assert_eq!(listening(line), Some(("24601".to_owned(), "/run/with blank/control.sock".into())));
        let connected = line.replace("00010000", "00000000");
        assert_eq!(listening(&connected), None);
        assert_eq!(listening("Num       RefCount Protocol Flags    Type St Inode Path"), None);
    }

    #[test]
    fn socket_is_read_from_command_line() {
        let said = |words: &[u8]| said_socket(words);
        assert_eq!(said(b"filterd\0--socket\0/run/a.sock\0run\0"), Some("/run/a.sock".into()));
        assert_eq!(said(b"filterd\0--socket\0/a\0run\0--socket\0/b\0"), Some("/b".into()));
        for nothing in [&b"filterd\0run\0"[..], b"filterd\0--socket\0a.sock\0", b"filterd\0--socket", b""] {
            assert_eq!(said(nothing), None);
        }
    }

    #[test]
    fn lock_line_matches_device_and_inode() {
        let line = "17: FLOCK  ADVISORY  WRITE 7556 00:1e:24601 0 EOF";
        let device = nix::sys::stat::makedev(0, 0x1e);
        assert_eq!(locked(line, (device, 24601)), Some(7556));
        assert_eq!(locked(line, (device, 2460)), None);
        assert_eq!(locked(&line.replace("FLOCK", "POSIX"), (device, 24601)), None);
        assert_eq!(locked(&line.replace("17: ", "17: -> "), (device, 24601)), None, "it waits");
    }

    #[test]
    fn own_socket_is_found() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let sockets = fs::read_to_string("/proc/self/net/unix").unwrap();
        assert!(sockets.lines().filter_map(listening).any(|(_, found)| found == path));
    }
}
