//! Giving up privileges: what reads lists and talks to clients needs none, since the broker is a process of
//! its own.

use std::fmt;
use std::io;
use std::path::Path;

use nix::sys::resource::{Resource, setrlimit};
use nix::sys::stat::{Mode, umask};
use nix::unistd::{getegid, geteuid};
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use rustix::thread::{CapabilitySet, remove_capability_from_bounding_set, set_no_new_privs};
use tracing::warn;

use super::confine::{Confinement, confine};
use super::error::DaemonError;
use crate::accounts::{self, User};
use crate::blocklist::Timestamp;
use crate::cli::Run;
use crate::clock;
use crate::control::give_socket;
use crate::control::wire::{About, Fault};
use crate::seccomp::{self, Process};
use crate::state_directory::StateDirectory;
use crate::text::Explanation;

/// What is left to the daemon.
#[derive(Clone, Debug, Default)]
pub struct Privileges {
    /// Its user, by name.
    pub user: String,
    /// It is root, and since when.
    pub root_since: Option<Timestamp>,
    /// Its user is a number that /etc/passwd does not list.
    pub is_unlisted: bool,
    /// Where it may write.
    pub confinement: Confinement,
    /// Are system calls refused that it has no use for?
    pub has_seccomp: bool,
}

impl Privileges {
    /// A daemon that stays root is not as it should be, although somebody asked for it.
    pub fn fault(&self) -> Option<Fault> {
        let since = clock::on_the_wall(self.root_since?);
        let message = "the daemon runs as root: an attacker who breaks into it has the rights of root, except what Landlock and seccomp forbid";
        let remedy = format!(
            "stop filterd and start it without `--user root` (`--take-over` keeps the user), and let user {} read its lists\nto see what that user may not read: filterd check --as filterd",
            accounts::name_of(accounts::own().uid)
        );
        Some(Fault { about: About::Confinement, since, told: Explanation::new(message, remedy), id: None })
    }

    /// What an operator should know of it.
    pub fn remarks(&self) -> impl Iterator<Item = Explanation> {
        // A user with a name is easier to let read files.
        let unlisted = self.is_unlisted.then(|| {
            let message = format!(
                "this machine has no user filterd: the daemon runs as user {}, which no account has",
                accounts::UNLISTED
            );
            Explanation::new(
                message,
                format!("create it with `{}`, then restart filterd", accounts::MAKE_USER),
            )
        });
        let unrestricted = (!self.has_seccomp).then(|| {
            let message =
                "this kernel has no seccomp: system calls that the daemon does not need are not refused";
            Explanation::new(message, "use a kernel with CONFIG_SECCOMP_FILTER")
        });
        unlisted.into_iter().chain(unrestricted)
    }
}

impl fmt::Display for Privileges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seccomp = if self.has_seccomp { "seccomp" } else { "no seccomp" };
        write!(f, "{}, without capabilities; {}, {seccomp}", self.user, self.confinement)
    }
}

/// The number that the daemon takes where there is no user `filterd` must be nobody else's.
pub fn must_be_nobodys(run: &Run) -> Result<(), DaemonError> {
    let is_unlisted = |user: &User| accounts::user(&user.name).is_ok_and(|listed| listed.is_none());
    if !run.user.as_ref().is_some_and(is_unlisted) {
        return Ok(());
    }
    match accounts::holder_of_unlisted() {
        Some(holder) => Err(DaemonError::NumberTaken { holder }),
        None => Ok(()),
    }
}

/// The state directory, which is to belong to whom we become.
pub fn state_directory(run: &Run) -> StateDirectory<'_> {
    let (user, group) = run.user.as_ref().map_or_else(|| (geteuid(), getegid()), |user| (user.uid, user.gid));
    StateDirectory::new(&run.state_dir, &run.socket, user, group)
}

/// Becomes the user that was named, if one was, to whom state and socket are given before; gives up all capabilities, and
/// never has them again; and writes only to its own places from then on.
///
/// Root without capabilities may not read what is another's: what an earlier daemon wrote as another user is taken back
/// first. Must be called before there are other threads, which would keep theirs.
pub fn drop_privileges(run: &Run, state: &StateDirectory<'_>) -> Result<Privileges, DaemonError> {
    // Whatever is made from here on is for us alone.
    umask(Mode::S_IRWXG | Mode::S_IRWXO);
    forget_bounding_set();
    state.give()?;
    match &run.user {
        Some(user) => become_user(user, &run.socket)
            .map_err(|source| DaemonError::User { name: user.name.clone(), source })?,
        None => accounts::drop_capabilities()?,
    }
    keep_nothing()?;
    let user = geteuid();
    Ok(Privileges {
        user: accounts::name_of(user),
        root_since: user.is_root().then(clock::now),
        is_unlisted: accounts::is_unlisted(user),
        confinement: confined(run),
        has_seccomp: is_restricted(),
    })
}

fn become_user(user: &User, socket: &Path) -> io::Result<()> {
    // Its group says who may talk to us, and stays.
    give_socket(socket, user.uid)?;
    accounts::become_user(user)
}

/// No program that is started could get any capability; where we are not root, none can anyway.
fn forget_bounding_set() {
    for capability in CapabilitySet::all() {
        _ = remove_capability_from_bounding_set(capability);
    }
}

/// No way to get capabilities, and nothing of our memory in a file or before another process of the same user.
fn keep_nothing() -> io::Result<()> {
    set_no_new_privs(true)?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    Ok(setrlimit(Resource::RLIMIT_CORE, 0, 0)?)
}

/// It works without, as on a kernel that has no Landlock.
fn confined(run: &Run) -> Confinement {
    confine(&run.state_dir, &run.socket).unwrap_or_else(|error| {
        warn!("cannot be confined by Landlock: {error}");
        Confinement::Nothing
    })
}

/// It works without, as on a kernel that has no seccomp.
fn is_restricted() -> bool {
    seccomp::restrict(Process::Daemon)
        .inspect_err(|error| warn!("cannot be confined by seccomp: {error}"))
        .is_ok()
}
