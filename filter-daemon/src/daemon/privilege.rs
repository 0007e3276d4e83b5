//! Giving up privileges: what reads lists and talks to clients needs none, since the broker is a process of
//! its own.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, chown, lchown};
use std::path::Path;

use nix::unistd::{Gid, Uid, getegid, geteuid, setgid, setgroups, setuid};
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities, set_no_new_privs};

use super::error::DaemonError;
use crate::accounts::{self, User};

/// Becomes `user`, if one is named, to whom state and socket are given before; and gives up all capabilities, and never has them again.
/// Root without them may not read what is another's: what an earlier daemon wrote as another user is taken back first.
/// Must be called before there are other threads, which would keep theirs.
pub fn drop_privileges(user: Option<&User>, state: &Path, socket: &Path) -> Result<(), DaemonError> {
    if let Some(user) = user {
        become_user(user, state, socket)
            .map_err(|source| DaemonError::User { name: user.name.clone(), source })?;
    } else {
        // Where this is not allowed, or there is nothing yet, the journal tells more.
        _ = give(state, geteuid(), getegid());
    }
    let none = CapabilitySet::empty();
    let none = CapabilitySets { effective: none, permitted: none, inheritable: none };
    set_capabilities(None, none).map_err(io::Error::from)?;
    set_no_new_privs(true).map_err(io::Error::from)?;
    Ok(())
}

fn become_user(user: &User, state: &Path, socket: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(state)?;
    give(state, user.uid, user.gid)?;
    // Its group says who may talk to us, and stays.
    chown(socket, Some(user.uid.as_raw()), None)?;
    setgroups(&accounts::groups_of(user)?)?;
    setgid(user.gid)?;
    setuid(user.uid)?;
    Ok(())
}

/// Makes everything in `state` theirs, but nothing that a link in it leads to: whoever owned it may have laid one.
fn give(state: &Path, user: Uid, group: Gid) -> io::Result<()> {
    let (user, group) = (Some(user.as_raw()), Some(group.as_raw()));
    lchown(state, user, group)?;
    fs::read_dir(state)?.try_for_each(|entry| lchown(entry?.path(), user, group))
}
