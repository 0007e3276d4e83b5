//! Guards users who come over SSH and send requests that may cut off someone. logind and utmp know most of
//! them, but neither exists everywhere, and `ssh HOST filterd add …` has no terminal that utmp would list.
//!
//! Their connections are stored in the state directory. The next start guards those that are still open,
//! before the users send another request.

use std::collections::VecDeque;
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;
use tokio::sync::mpsc;
use tracing::warn;

use crate::host::{HostRole, ProtectedAddress, SshConnection};
use crate::text::printable;

/// The file in the state directory; each line is a connection as sshd writes it.
const FILE: &str = "askers";

/// No file of filterd's own is longer.
const LONGEST: u64 = 16 * 1024;

/// The most connections that are kept, the latest ones. Each request checks all of them, so that too many
/// would slow down others.
const MOST: usize = 64;

/// The SSH connections of users, while they are open.
#[derive(Default)]
pub struct Askers {
    told: Option<mpsc::Receiver<String>>,
    known: VecDeque<SshConnection>,
    note: AskersNote,
}

/// The file for the next start.
#[derive(Default)]
struct AskersNote {
    /// Nothing is written without a path.
    place: Option<PathBuf>,
    written: VecDeque<SshConnection>,
    has_failed: bool,
}

impl Askers {
    /// The connections that the filterd before stored in its state directory and that are still open. If the
    /// kernel does not tell whether one is open, it is skipped, because no user is here to claim it.
    pub fn noted_in(state: &Path) -> Self {
        let place = state.join(FILE);
        let text = read(&place).unwrap_or_default();
        let noted: VecDeque<_> = text.lines().filter_map(SshConnection::parse).take(MOST).collect();
        let stands = |connection: &&SshConnection| connection.is_open().unwrap_or(false);
        let known = noted.iter().filter(stands).copied().collect();
        Self { told: None, known, note: AskersNote { place: Some(place), written: noted, has_failed: false } }
    }

    /// Sets the channel that reports connections.
    pub fn listen(&mut self, told: mpsc::Receiver<String>) {
        self.told = Some(told);
    }

    /// Takes the connections that were reported. Connections that the kernel does not know are ignored.
    pub fn hear(&mut self) {
        while let Some(words) = self.told.as_mut().and_then(|told| told.try_recv().ok()) {
            if let Some(connection) = SshConnection::parse(&words) {
                self.take(connection, stands(&connection));
            }
        }
        self.note.keep(&self.known);
    }

    pub fn forget_gone(&mut self) {
        self.known.retain(stands);
        self.note.keep(&self.known);
    }

    /// The addresses that they come from.
    pub fn facts(&self) -> impl Iterator<Item = ProtectedAddress> + '_ {
        self.known
            .iter()
            .map(|connection| ProtectedAddress { address: connection.peer.ip(), what: HostRole::Asker })
    }

    fn take(&mut self, connection: SshConnection, stands: bool) {
        self.known.retain(|known| *known != connection);
        if stands {
            self.known.push_back(connection);
        }
        if self.known.len() > MOST {
            self.known.pop_front();
        }
    }
}

impl AskersNote {
    /// Writes the file if it differs, so that the next filterd knows the connections however this one ends.
    fn keep(&mut self, known: &VecDeque<SshConnection>) {
        let Some(place) = self.place.as_ref().filter(|_| self.written != *known) else { return };
        self.written.clone_from(known);
        let written = write(place, known);
        if let (Err(error), false) = (&written, self.has_failed) {
            warn!(
                "{}: {error}: after a restart, users who connect by SSH are guarded only after their next command",
                printable::path(place)
            );
        }
        self.has_failed = written.is_err();
    }
}

/// Reads the file. Symbolic links are refused, because filterd makes none there.
fn read(place: &Path) -> io::Result<String> {
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits()).open(place)?;
    let mut text = String::new();
    file.take(LONGEST).read_to_string(&mut text)?;
    Ok(text)
}

/// Writes the file without syncing it to disk, because no connection survives a crash of the machine.
fn write(place: &Path, known: &VecDeque<SshConnection>) -> io::Result<()> {
    if known.is_empty() {
        _ = fs::remove_file(place);
        return Ok(());
    }
    let new = place.with_extension("new");
    _ = fs::remove_file(&new);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
    known.iter().try_for_each(|connection| writeln!(file, "{connection}"))?;
    fs::rename(&new, place)
}

/// If the kernel does not tell, the connection counts as open: the user who sent the request could allow any
/// address anyway.
fn stands(connection: &SshConnection) -> bool {
    connection.is_open().unwrap_or(true)
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn only_present_askers_are_kept_within_limit() {
        let connection =
            |port: usize| SshConnection::parse(&format!("192.0.2.7 {port} 192.0.2.1 22")).unwrap();
        let mut askers = Askers::default();
        for port in 1..=2 * MOST {
            askers.take(connection(port), true);
            askers.take(connection(port), true);
        }
        assert_eq!(askers.facts().count(), MOST);
        assert_eq!(askers.known.back(), Some(&connection(2 * MOST)));
        askers.take(connection(2 * MOST), false);
        assert_eq!(askers.facts().count(), MOST - 1);
        askers.forget_gone();
        assert_eq!(askers.facts().count(), 0, "the kernel knows of none of them");
    }
    #[test]
    fn present_askers_are_known_after_restart() {
        let state = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let there = SshConnection { peer: client.local_addr().unwrap(), own: client.peer_addr().unwrap() };
        let gone = SshConnection::parse("192.0.2.7 51000 192.0.2.1 22").unwrap();
        let mut askers = Askers::noted_in(state.path());
        askers.take(gone, true);
        askers.take(there, true);
        askers.note.keep(&askers.known);
        let next = Askers::noted_in(state.path());
        assert_eq!(next.known, [there], "the other one's connection is over");
        drop((client, listener));
        let mut last = Askers::noted_in(state.path());
        assert!(last.known.is_empty());
        last.forget_gone();
        assert!(!state.path().join(FILE).exists(), "nobody is left to be known");
    }
}
