//! Confines the daemon with Landlock, if the kernel has it. The daemon can then write only to its own
//! directories, and can neither run programs nor open TCP connections. Landlock does not restrict what it
//! reads.
//!
//! The rules bind this thread and all threads that it starts later, so they are set before there is a second
//! thread. Processes with other needs, such as the broker, are started before. Listening is not restricted,
//! because the configuration names the addresses and can change.

use std::fmt;
use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, LandlockStatus, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, Scope,
};

/// The version that is requested; an older kernel enforces the part that it knows.
const NEWEST: ABI = ABI::V6;

/// Whether the kernel confines this process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Confinement {
    /// Confined, with this version of Landlock.
    Landlock(u32),
    #[default]
    Nothing,
}

impl Confinement {
    /// The version of Landlock, if any.
    pub const fn landlock(&self) -> Option<u32> {
        match self {
            Self::Landlock(version) => Some(*version),
            Self::Nothing => None,
        }
    }
}

impl fmt::Display for Confinement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Landlock(version) => write!(f, "Landlock {version}"),
            Self::Nothing => f.write_str("no Landlock"),
        }
    }
}

/// Restricts writes of this thread to `state`, and to creating and removing the socket in its directory.
/// Without Landlock, this does nothing.
pub fn confine(state: &Path, socket: &Path) -> Result<Confinement, RulesetError> {
    let ruleset = Ruleset::default()
        .handle_access(AccessFs::from_write(NEWEST) | AccessFs::Execute)?
        .handle_access(AccessNet::ConnectTcp)?
        .scope(Scope::from_all(NEWEST))?
        .create()?;
    let ruleset = allow(ruleset, state, AccessFs::from_write(NEWEST))?;
    let ruleset = allow(ruleset, directory_of(socket), AccessFs::MakeSock | AccessFs::RemoveFile)?;
    Ok(match ruleset.restrict_self()?.landlock {
        LandlockStatus::Available { effective_abi, .. } => Confinement::Landlock(effective_abi as u32),
        LandlockStatus::NotEnabled | LandlockStatus::NotImplemented => Confinement::Nothing,
    })
}

/// Adds a rule for `place`. A missing path needs no rule, because nothing can be written there.
fn allow(
    ruleset: RulesetCreated,
    place: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    match PathFd::new(place) {
        Ok(place) => ruleset.add_rule(PathBeneath::new(place, access)),
        Err(_) => Ok(ruleset),
    }
}

fn directory_of(socket: &Path) -> &Path {
    socket.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::io::ErrorKind;
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::UnixListener;
    use std::process::Command;
    use std::thread;

    use tempfile::TempDir;

    use super::*;

    /// Runs `act` on a thread confined to `state` and the directory of `s/socket`. Without Landlock, prints a
    /// note and does nothing.
    fn confined(act: impl FnOnce(&Path) + Send) {
        let place = TempDir::new().unwrap();
        for directory in ["state", "state/lists", "s", "elsewhere"] {
            fs::create_dir(place.path().join(directory)).unwrap();
        }
        fs::write(place.path().join("elsewhere/file"), "precious").unwrap();
        let path = place.path();
        let confined = thread::scope(|threads| {
            let confined = threads.spawn(move || {
                let confinement = confine(&path.join("state"), &path.join("s/socket")).unwrap();
                confinement.landlock().inspect(|_| act(path))
            });
            confined.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        if confined.is_none() {
            eprintln!("SKIPPED what Landlock forbids: this kernel has none");
        }
    }

    fn denied<T>(what: &str, result: std::io::Result<T>) {
        assert_eq!(result.err().map(|error| error.kind()), Some(ErrorKind::PermissionDenied), "{what}");
    }

    #[test]
    fn elsewhere_nothing_is_written_made_or_removed() {
        confined(|place| {
            let elsewhere = place.join("elsewhere");
            denied("open to write", File::options().write(true).open(elsewhere.join("file")));
            denied("make a file", File::create(elsewhere.join("new")));
            denied("make a directory", fs::create_dir(elsewhere.join("new")));
            denied("make a link", std::os::unix::fs::symlink("file", elsewhere.join("new")));
            denied("remove", fs::remove_file(elsewhere.join("file")));
            denied("move out", fs::rename(elsewhere.join("file"), place.join("state/file")));
            assert_eq!(fs::read_to_string(elsewhere.join("file")).unwrap(), "precious", "reading goes on");
        });
    }

    #[test]
    fn the_state_is_written_as_before() {
        confined(|place| {
            let state = place.join("state");
            fs::write(state.join("live.redb.new"), "1").unwrap();
            fs::rename(state.join("live.redb.new"), state.join("live.redb")).unwrap();
            fs::hard_link(state.join("live.redb"), state.join("live.redb.damaged-1")).unwrap();
            fs::write(state.join("lists/new"), "1").unwrap();
            fs::rename(state.join("lists/new"), state.join("lists/0123")).unwrap();
            File::options().write(true).open(state.join("live.redb")).unwrap().set_len(4096).unwrap();
            fs::remove_file(state.join("live.redb")).unwrap();
            File::open(&state).unwrap().sync_all().unwrap();
        });
    }

    #[test]
    fn confined_daemon_may_replace_only_its_socket() {
        confined(|place| {
            drop(UnixListener::bind(place.join("s/socket")).unwrap());
            fs::remove_file(place.join("s/socket")).unwrap();
            denied("make a file", File::create(place.join("s/file")));
        });
    }

    #[test]
    fn confined_daemon_runs_and_connects_nothing() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        confined(|_| {
            denied("run a program", Command::new("/bin/true").status());
            if confine(Path::new("/"), Path::new("/s")).unwrap().landlock() >= Some(4) {
                denied("connect", TcpStream::connect(address));
                drop(TcpListener::bind("127.0.0.1:0").unwrap());
            }
        });
    }
}
