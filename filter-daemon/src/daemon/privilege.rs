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
use crate::cli::Run;
use crate::control::give_socket;
use crate::state_directory::StateDirectory;

/// What is left to the daemon.
#[derive(Clone, Debug, Default)]
pub struct Privileges {
    /// Whom it is, by name.
    pub user: String,
    /// Where it may write.
    pub confinement: Confinement,
}

impl fmt::Display for Privileges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, without capabilities; {}", self.user, self.confinement)
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
    Ok(Privileges { user: accounts::name_of(geteuid()), confinement: confined(run) })
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
