//! Giving up privileges: what reads lists and talks to clients needs none, since the broker is a process of
//! its own.

use std::io;
use std::path::Path;

use nix::sys::resource::{Resource, setrlimit};
use nix::sys::stat::{Mode, umask};
use nix::unistd::{getegid, geteuid, setgid, setgroups, setuid};
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use rustix::thread::{
    CapabilitySet, CapabilitySets, remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
};

use super::error::DaemonError;
use super::state_directory::StateDirectory;
use crate::accounts::{self, User};
use crate::cli::Run;
use crate::control::give_socket;

/// The state directory, which is to belong to whom we become.
pub fn state_directory(run: &Run) -> StateDirectory<'_> {
    let (user, group) = run.user.as_ref().map_or_else(|| (geteuid(), getegid()), |user| (user.uid, user.gid));
    StateDirectory::new(&run.state_dir, &run.socket, user, group)
}

/// Becomes `user`, if one is named, to whom state and socket are given before; and gives up all capabilities, and never has them again.
/// Root without them may not read what is another's: what an earlier daemon wrote as another user is taken back first.
/// Must be called before there are other threads, which would keep theirs.
pub fn drop_privileges(
    user: Option<&User>,
    state: &StateDirectory<'_>,
    socket: &Path,
) -> Result<(), DaemonError> {
    // Whatever is made from here on is for us alone.
    umask(Mode::S_IRWXG | Mode::S_IRWXO);
    forget_bounding_set();
    state.give()?;
    if let Some(user) = user {
        become_user(user, socket).map_err(|source| DaemonError::User { name: user.name.clone(), source })?;
    }
    Ok(keep_nothing()?)
}

fn become_user(user: &User, socket: &Path) -> io::Result<()> {
    // Its group says who may talk to us, and stays.
    give_socket(socket, user.uid)?;
    setgroups(&accounts::groups_of(user)?)?;
    setgid(user.gid)?;
    setuid(user.uid)?;
    Ok(())
}

/// No program that is started could get any capability; where we are not root, none can anyway.
fn forget_bounding_set() {
    for capability in CapabilitySet::all() {
        _ = remove_capability_from_bounding_set(capability);
    }
}

/// No capabilities, no way to get any, and nothing of our memory in a file or before another process of the same user.
fn keep_nothing() -> io::Result<()> {
    let none = CapabilitySet::empty();
    let none = CapabilitySets { effective: none, permitted: none, inheritable: none };
    set_capabilities(None, none)?;
    set_no_new_privs(true)?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    Ok(setrlimit(Resource::RLIMIT_CORE, 0, 0)?)
}
