//! Users and groups, from /etc/passwd and /etc/group.
//!
//! The C library would load modules to ask other sources that the system configures. A static filterd,
//! which therefore starts fast, cannot do that. The accounts needed here are local anyway.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nix::unistd::{Gid, Uid, geteuid, setfsuid, setgid, setgroups, setuid};
use rustix::thread::{self, CapabilitySet, CapabilitySets, set_capabilities};

const USERS: &str = "/etc/passwd";
const GROUPS: &str = "/etc/group";

/// The default user of a daemon that root starts.
pub const OWN: &str = "filterd";

/// The command that creates this user.
pub const MAKE_USER: &str = "useradd --system --user-group --shell /usr/sbin/nologin filterd";

/// The ID of this user and its group if /etc/passwd lacks the user. No range for users, systemd's dynamic
/// users or containers includes it, and it fits in 16 bits, as containers with few users require.
pub const UNLISTED: u32 = 65_525;

/// An account that the daemon can become.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    pub name: String,
    pub uid: Uid,
    /// The ID of the primary group.
    pub gid: Gid,
}

/// The user of this name.
pub fn user(name: &str) -> io::Result<Option<User>> {
    Ok(user_in(&read(USERS)?, name))
}

/// The default user of a daemon that root starts: the user of the daemon before it, or filterd's own user.
/// It stays root only if the daemon before ran as root. None if this process is not root.
pub fn default_user(before: Option<u32>) -> Option<User> {
    if !geteuid().is_root() {
        return None;
    }
    match before {
        Some(UNLISTED) => Some(unlisted()),
        Some(uid) => user_of(Uid::from_raw(uid)).filter(|user| !user.uid.is_root()),
        None => Some(own()),
    }
}

/// The daemon's own user: `filterd`, or an ID that no other user has.
pub fn own() -> User {
    user(OWN).ok().flatten().unwrap_or_else(unlisted)
}

fn unlisted() -> User {
    User { name: OWN.to_owned(), uid: Uid::from_raw(UNLISTED), gid: Gid::from_raw(UNLISTED) }
}

/// True if this is the daemon's own user and /etc/passwd does not list it.
pub fn is_unlisted(uid: Uid) -> bool {
    uid.as_raw() == UNLISTED && user_of(uid).is_none()
}

/// The user or group that has filterd's reserved ID, other than filterd.
pub fn holder_of_unlisted() -> Option<String> {
    let user = user_of(Uid::from_raw(UNLISTED)).map(|user| user.name).filter(|name| name != OWN);
    let group = || group_of(Gid::from_raw(UNLISTED)).filter(|name| name != OWN);
    user.map(|name| format!("user {name}")).or_else(|| Some(format!("group {}", group()?)))
}

/// The user with this ID.
pub fn user_of(uid: Uid) -> Option<User> {
    let users = read(USERS).ok()?;
    let number = uid.as_raw().to_string();
    let is_theirs = |line: &&str| line.split(':').nth(2) == Some(&number);
    let name = users.lines().find(is_theirs)?.split(':').next()?;
    user_in(&users, name)
}

/// The name of the user with this ID, or the ID itself.
pub fn name_of(uid: Uid) -> String {
    user_of(uid).map_or_else(|| uid.to_string(), |user| user.name)
}

/// The name of the group with this ID, or the ID itself.
pub fn group_name_of(gid: Gid) -> String {
    group_of(gid).unwrap_or_else(|| gid.to_string())
}

fn group_of(gid: Gid) -> Option<String> {
    let groups = read(GROUPS).unwrap_or_default();
    let number = gid.as_raw().to_string();
    let line = groups.lines().find(|line| line.split(':').nth(2) == Some(&number))?;
    line.split(':').next().map(ToOwned::to_owned)
}

/// Runs `act` on a thread with the identity and groups of this user. The caller must be root.
pub fn on_a_thread_of<T: Send>(user: &User, act: impl FnOnce() -> T + Send) -> io::Result<T> {
    let groups: Vec<_> = groups_of(user)?.iter().map(|gid| thread::Gid::from_raw(gid.as_raw())).collect();
    let (uid, gid) = (thread::Uid::from_raw(user.uid.as_raw()), thread::Gid::from_raw(user.gid.as_raw()));
    std::thread::scope(|threads| {
        let done = threads.spawn(move || {
            thread::set_thread_groups(&groups)?;
            thread::set_thread_res_gid(gid, gid, gid)?;
            thread::set_thread_res_uid(uid, uid, uid)?;
            Ok(act())
        });
        done.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Becomes this user for good, without any capability.
pub fn become_user(user: &User) -> io::Result<()> {
    setgroups(&groups_of(user)?)?;
    setgid(user.gid)?;
    setuid(user.uid)?;
    drop_capabilities()
}

/// Drops all capabilities. Root without capabilities still has the file access of user 0 by file modes.
pub fn drop_capabilities() -> io::Result<()> {
    let none = CapabilitySet::empty();
    let none = CapabilitySets { effective: none, permitted: none, inheritable: none };
    Ok(set_capabilities(None, none)?)
}

/// Runs `act` with the file access of this user, if this process may change users. Root without
/// CAP_DAC_OVERRIDE, as in the service unit, cannot enter the directories of other users. Only this thread
/// is affected.
pub fn as_user<T>(user: Uid, act: impl FnOnce() -> T) -> T {
    let before = setfsuid(user);
    let done = act();
    setfsuid(before);
    done
}

/// Runs `act`; if access to the path is denied, runs it again as the owner of the path.
pub fn or_as_owner_of<T>(path: &Path, act: impl Fn() -> io::Result<T>) -> io::Result<T> {
    let refused = match act() {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => error,
        done => return done,
    };
    match fs::metadata(path) {
        Ok(found) => as_user(Uid::from_raw(found.uid()), act),
        Err(_) => Err(refused),
    }
}

/// The group of this name.
pub fn group(name: &str) -> io::Result<Option<Gid>> {
    Ok(group_in(&read(GROUPS)?, name))
}

/// All groups of `user`: the primary one, and those that list the user as a member.
pub fn groups_of(user: &User) -> io::Result<Vec<Gid>> {
    Ok(groups_in(&read(GROUPS)?, user))
}

/// Reads a file with other bytes than UTF-8 replaced, because names are ASCII. A missing file counts as
/// empty.
fn read(path: &str) -> io::Result<String> {
    match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        read => read.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
    }
}

/// A line is `name:password:uid:gid:…`.
fn user_in(users: &str, name: &str) -> Option<User> {
    let fields = users.lines().find_map(|line| fields_of(line, name))?;
    let uid = Uid::from_raw(fields.get(2)?.parse().ok()?);
    let gid = Gid::from_raw(fields.get(3)?.parse().ok()?);
    Some(User { name: name.to_owned(), uid, gid })
}

/// A line is `name:password:gid:member,member…`.
fn group_in(groups: &str, name: &str) -> Option<Gid> {
    groups.lines().find_map(|line| fields_of(line, name)).and_then(|fields| gid_of(&fields))
}

fn groups_in(groups: &str, user: &User) -> Vec<Gid> {
    let is_theirs = |fields: &Vec<&str>| {
        fields.get(3).is_some_and(|who| who.split(',').any(|member| member == user.name))
    };
    let further = groups.lines().map(|line| line.split(':').collect()).filter(is_theirs);
    let mut all = vec![user.gid];
    all.extend(further.filter_map(|fields| gid_of(&fields)).filter(|gid| *gid != user.gid));
    all
}

fn gid_of(fields: &[&str]) -> Option<Gid> {
    fields.get(2)?.parse().ok().map(Gid::from_raw)
}

/// The fields of a line whose first field is `name`.
fn fields_of<'a>(line: &'a str, name: &str) -> Option<Vec<&'a str>> {
    let fields: Vec<_> = line.split(':').collect();
    (!name.is_empty() && fields[0] == name).then_some(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWD: &str =
        "root:x:0:0:root:/root:/bin/bash\n\nfilterd:x:990:991::/:/bin/false\nbroken:x\n:x:1:1::/:\n";
    const GROUP: &str =
        "root:x:0:\nfilterd:x:991:filterd\nlists:x:50:ann,filterd\nothers:x:51:filterds\nbroken\n";

    fn filterd() -> User {
        User { name: "filterd".to_owned(), uid: Uid::from_raw(990), gid: Gid::from_raw(991) }
    }

    #[test]
    fn a_user_is_found_by_the_whole_name() {
        assert_eq!(user_in(PASSWD, "filterd"), Some(filterd()));
        for name in ["filter", "filterds", "broken", "", "x"] {
            assert_eq!(user_in(PASSWD, name), None, "{name}");
        }
    }

    #[test]
    fn groups_are_primary_and_those_listing_the_user() {
        assert_eq!(group_in(GROUP, "lists"), Some(Gid::from_raw(50)));
        assert_eq!(group_in(GROUP, "broken"), None);
        assert_eq!(groups_in(GROUP, &filterd()), [Gid::from_raw(991), Gid::from_raw(50)]);
    }

    #[test]
    fn root_is_found_on_this_machine() {
        assert_eq!(user("root").unwrap().map(|root| root.uid), Some(Uid::from_raw(0)));
        assert_eq!(group("root").unwrap(), Some(Gid::from_raw(0)));
    }
}
