//! Users and groups, as /etc/passwd and /etc/group tell them.
//!
//! The C library would also ask whatever else the system is set up to ask, by loading code into the program. A filterd that
//! is one piece, and therefore starts fast, cannot have that: who is asked for here belongs to the machine anyway.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nix::unistd::{Gid, Uid, geteuid, setfsuid, setgid, setgroups, setuid};
use rustix::thread::{self, CapabilitySet, CapabilitySets, set_capabilities};

const USERS: &str = "/etc/passwd";
const GROUPS: &str = "/etc/group";

/// Whom root's daemon becomes if nobody says otherwise.
pub const OWN: &str = "filterd";

/// The command that makes that user.
pub const MAKE_USER: &str = "useradd --system --shell /usr/sbin/nologin filterd";

/// The number of that user and of its group where /etc/passwd has no such user. It is in no range from which users, systemd's
/// dynamic users, or containers get theirs, and fits in 16 bits, as containers with few users want it.
pub const UNLISTED: u32 = 65_525;

/// Somebody whom the daemon can become.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The name.
    pub name: String,
    /// The number.
    pub uid: Uid,
    /// The number of the group that is everybody's own.
    pub gid: Gid,
}

/// The user of this name.
pub fn user(name: &str) -> io::Result<Option<User>> {
    Ok(user_in(&read(USERS)?, name))
}

/// Whom a daemon is to become that is not told: root becomes who was there before, if anybody was, or else the daemon's own
/// user. It stays root only where a root was before.
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

/// The daemon's own user: `filterd`, or a number that nobody has.
pub fn own() -> User {
    user(OWN).ok().flatten().unwrap_or_else(unlisted)
}

fn unlisted() -> User {
    User { name: OWN.to_owned(), uid: Uid::from_raw(UNLISTED), gid: Gid::from_raw(UNLISTED) }
}

/// Is this the daemon's own user on a machine that does not list it?
pub fn is_unlisted(uid: Uid) -> bool {
    uid.as_raw() == UNLISTED && user_of(uid).is_none()
}

/// Who else on this machine has the number that only filterd should have: a user or a group.
pub fn holder_of_unlisted() -> Option<String> {
    let user = user_of(Uid::from_raw(UNLISTED)).map(|user| user.name).filter(|name| name != OWN);
    let group = || group_of(Gid::from_raw(UNLISTED)).filter(|name| name != OWN);
    user.map(|name| format!("user {name}")).or_else(|| Some(format!("group {}", group()?)))
}

/// The user of this number.
pub fn user_of(uid: Uid) -> Option<User> {
    let users = read(USERS).ok()?;
    let number = uid.as_raw().to_string();
    let is_theirs = |line: &&str| line.split(':').nth(2) == Some(&number);
    let name = users.lines().find(is_theirs)?.split(':').next()?;
    user_in(&users, name)
}

/// What the user of this number is called: the number, if it has no name.
pub fn name_of(uid: Uid) -> String {
    user_of(uid).map_or_else(|| uid.to_string(), |user| user.name)
}

/// What the group of this number is called: the number, if it has no name.
pub fn group_name_of(gid: Gid) -> String {
    group_of(gid).unwrap_or_else(|| gid.to_string())
}

fn group_of(gid: Gid) -> Option<String> {
    let groups = read(GROUPS).unwrap_or_default();
    let number = gid.as_raw().to_string();
    let line = groups.lines().find(|line| line.split(':').nth(2) == Some(&number))?;
    line.split(':').next().map(ToOwned::to_owned)
}

/// Does something on a thread that is this user, with the user's groups; to be called by root.
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

/// Becomes this user, without any capability, and never anybody else again.
pub fn become_user(user: &User) -> io::Result<()> {
    setgroups(&groups_of(user)?)?;
    setgid(user.gid)?;
    setuid(user.uid)?;
    drop_capabilities()
}

/// Root without capabilities may do what the modes of files let root do.
pub fn drop_capabilities() -> io::Result<()> {
    let none = CapabilitySet::empty();
    let none = CapabilitySets { effective: none, permitted: none, inheritable: none };
    Ok(set_capabilities(None, none)?)
}

/// Does something to files as this user, if we may become anybody: root without CAP_DAC_OVERRIDE, as in the unit, may look
/// into no more directories than others may. This thread alone is concerned.
pub fn as_user<T>(user: Uid, act: impl FnOnce() -> T) -> T {
    let before = setfsuid(user);
    let done = act();
    setfsuid(before);
    done
}

/// What we are refused at this path, as whoever owns what is there.
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

/// All groups of `user`: the own one, and those that name the user as a member.
pub fn groups_of(user: &User) -> io::Result<Vec<Gid>> {
    Ok(groups_in(&read(GROUPS)?, user))
}

/// Names are plain letters, whatever stands beside them. Where there is no such file, there is nobody.
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

/// The fields of a line, if its first is `name`.
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
    fn groups_are_the_own_one_and_those_that_name_the_user() {
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
