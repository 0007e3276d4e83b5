//! Gives up privileges. Reading lists and serving clients needs none, because the broker is a separate
//! process.

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
use crate::seccomp::{self, ProcessKind};
use crate::state_directory::StateDirectory;
use crate::text::Explanation;

/// The privileges that the daemon keeps.
#[derive(Clone, Debug, Default)]
pub struct Privileges {
    /// The name of its user.
    pub user: String,
    /// Since when it runs as root, if it does.
    pub root_since: Option<Timestamp>,
    /// Its user is a number that /etc/passwd does not list.
    pub is_unlisted: bool,
    /// The confinement of its writes.
    pub confinement: Confinement,
    /// Whether unneeded system calls are refused.
    pub has_seccomp: bool,
}

impl Privileges {
    /// Running as root is a fault even if the operator asked for it.
    pub fn fault(&self) -> Option<Fault> {
        let since = clock::on_the_wall(self.root_since?);
        let message = "the daemon runs as root: an attacker who breaks into it has the rights of root, except what Landlock and seccomp forbid";
        let remedy = format!(
            "stop filterd and start it without `--user root` (`--take-over` keeps the user), and let user {} read its lists\nto see what that user may not read: filterd check --as filterd",
            accounts::name_of(accounts::own().uid)
        );
        Some(Fault { about: About::Confinement, since, told: Explanation::new(message, remedy), id: None })
    }

    /// Remarks for the operator.
    pub fn remarks(&self) -> impl Iterator<Item = Explanation> {
        // It is easier to give read access to a user with a name.
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

/// Checks that the number which the daemon takes without a user `filterd` belongs to no one else.
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

/// The state directory, which must belong to the user that the daemon becomes.
pub fn state_directory(run: &Run) -> StateDirectory<'_> {
    let (user, group) = run.user.as_ref().map_or_else(|| (geteuid(), getegid()), |user| (user.uid, user.gid));
    StateDirectory::new(&run.state_dir, &run.socket, user, group)
}

/// Becomes the configured user, after passing state and socket to that user. Gives up all capabilities
/// forever, and confines writes to filterd's own places.
///
/// Root without capabilities may not read files of other users. The files of an earlier daemon therefore get
/// their new owner first. Call this before there are other threads, which would keep their privileges.
pub fn drop_privileges(run: &Run, state: &StateDirectory<'_>) -> Result<Privileges, DaemonError> {
    // Files that are created from here on are accessible to this user only.
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
    // The group of the socket decides who may connect, and stays.
    give_socket(socket, user.uid)?;
    accounts::become_user(user)
}

/// Prevents programs that are started from gaining capabilities. Without root this fails, but then they could
/// gain none anyway.
fn forget_bounding_set() {
    for capability in CapabilitySet::all() {
        _ = remove_capability_from_bounding_set(capability);
    }
}

/// Blocks every way to gain capabilities. Keeps memory out of core dumps and away from other processes of the
/// same user.
fn keep_nothing() -> io::Result<()> {
    set_no_new_privs(true)?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    Ok(setrlimit(Resource::RLIMIT_CORE, 0, 0)?)
}

/// An error is only a warning, because filterd also works without Landlock.
fn confined(run: &Run) -> Confinement {
    confine(&run.state_dir, &run.socket).unwrap_or_else(|error| {
        warn!("cannot be confined by Landlock: {error}");
        Confinement::Nothing
    })
}

/// An error is only a warning, because filterd also works without seccomp.
fn is_restricted() -> bool {
    seccomp::restrict(ProcessKind::Daemon)
        .inspect_err(|error| warn!("cannot be confined by seccomp: {error}"))
        .is_ok()
}
