//! Explains why filterd cannot read a file, with the command that fixes it. Gives no command if another user
//! may have placed a trap in the path.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::fcntl::{AT_FDCWD, AtFlags};
use nix::unistd::{AccessFlags, Uid, faccessat, getegid, geteuid, getgroups};

use crate::accounts;
use crate::text::printable;

/// The advice that lets our user read the file at `path`.
pub fn mend(path: &Path) -> String {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let user = accounts::name_of(geteuid());
    let otherwise = if geteuid().is_root() { "" } else { "; or run it as root (the daemon: `--user root`)" };
    if let Some(why) = detour(&path) {
        return format!("let user {user} read it, but check it first: {why}{otherwise}");
    }
    match barred(&path) {
        Some(directory) if is_private(&directory) => format!(
            "move it out of {}, which is private, and change its path: `install -m 644 -t /etc/filterd {}`{otherwise}",
            shown(&directory),
            shown(&path)
        ),
        Some(directory) => format!("let user {user} read it: `chmod o+x {}`{otherwise}", shown(&directory)),
        None => format!("let user {user} read it: `{}`{otherwise}", open(&path)),
    }
}

/// The reason why another user may control what is at `path`, if there is one. `chgrp` and `chmod` follow
/// links, so a user who could create a link there could make root open one of root's own files.
pub fn detour(path: &Path) -> Option<String> {
    let mut way: Vec<_> = path.ancestors().collect();
    way.reverse();
    let found = way.iter().map_while(|place| Some((*place, fs::symlink_metadata(place).ok()?)));
    let found: Vec<_> = found.collect();
    found.iter().enumerate().find_map(|(at, (place, about))| {
        let next = found.get(at + 1).map(|(_, about)| about);
        let leads = |why: &str| Some(format!("{} {why}", shown(place)));
        if about.is_symlink() {
            leads("is a link")
        } else if about.is_dir() && !is_trusted(about) {
            leads(&format!("belongs to user {}", accounts::name_of(Uid::from_raw(about.uid()))))
        } else if about.is_dir() && about.mode() & WRITABLE_BY_OTHERS != 0 && !keeps(about, next) {
            leads("can be written by others")
        } else {
            None
        }
    })
}

const WRITABLE_BY_OTHERS: u32 = 0o022;
const STICKY: u32 = 0o1000;

fn is_trusted(about: &Metadata) -> bool {
    [0, geteuid().as_raw()].contains(&about.uid())
}

/// In a sticky directory such as /tmp, no user can remove another user's files.
fn keeps(directory: &Metadata, next: Option<&Metadata>) -> bool {
    directory.mode() & STICKY != 0 && next.is_some_and(is_trusted)
}

/// The first directory of the path that our user cannot enter.
fn barred(path: &Path) -> Option<PathBuf> {
    let above: Vec<_> = path.ancestors().skip(1).collect();
    let lets_pass =
        |directory: &Path| faccessat(AT_FDCWD, directory, AccessFlags::X_OK, AtFlags::AT_EACCESS).is_ok();
    above.into_iter().rev().find(|directory| !lets_pass(directory)).map(Path::to_owned)
}

/// True for a home directory, which must not be opened to others just to read a file in it.
fn is_private(directory: &Path) -> bool {
    directory == Path::new("/root") || directory.parent() == Some(Path::new("/home"))
}

/// The smallest change that lets us read a file in an accessible directory.
fn open(path: &Path) -> String {
    let (shown, found) = (shown(path), fs::metadata(path).ok());
    let ours = found.as_ref().is_some_and(|found| Uid::from_raw(found.uid()) == geteuid());
    let groups = getgroups().unwrap_or_default();
    let is_in_group = |group: u32| groups.iter().chain([&getegid()]).any(|gid| gid.as_raw() == group);
    if ours {
        format!("chmod u+r {shown}")
    } else if found.is_some_and(|found| is_in_group(found.gid())) {
        format!("chmod g+r {shown}")
    } else {
        format!("chgrp {} {shown} && chmod g+r {shown}", accounts::group_name_of(getegid()))
    }
}

fn shown(path: &Path) -> String {
    printable::path(path).to_string()
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn home_directories_stay_private() {
        for (directory, expected) in [
            ("/root", true),
            ("/home/ann", true),
            ("/home", false),
            ("/home/ann/lists", false),
            ("/etc/filterd", false),
        ] {
            assert_eq!(is_private(Path::new(directory)), expected, "{directory}");
        }
    }

    #[test]
    fn no_command_for_paths_others_control() {
        let place = tempfile::tempdir().unwrap();
        let directory = place.path().join("lists");
        fs::create_dir(&directory).unwrap();
        let (list, link) = (directory.join("list.txt"), directory.join("link.txt"));
        fs::write(&list, "203.0.113.7").unwrap();
        set_mode(&list, 0o600);
        symlink("/etc/shadow", &link).unwrap();
        assert_eq!(detour(&list), None, "it lies where only its owner can put anything");
        assert!(mend(&list).contains("`ch"), "{}", mend(&list));
        assert!(detour(&link).unwrap().contains("is a link"));
        assert!(!mend(&link).contains("chgrp") && !mend(&link).contains("chmod"), "{}", mend(&link));
        set_mode(&directory, 0o777);
        assert!(detour(&list).unwrap().contains("can be written by others"));
        assert!(!mend(&list).contains("chgrp") && !mend(&list).contains("chmod"), "{}", mend(&list));
        set_mode(&directory, 0o1777);
        assert_eq!(detour(&list), None, "nobody else can take it away");
    }
}
