//! Checks the state directory: whether it exists, its owner, its free space, and foreign files in it.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use nix::sys::statvfs::{FsFlags, statvfs};
use nix::unistd::{Uid, getegid, geteuid};

use super::findings::{size, told};
use super::{Findings, Subject};
use crate::accounts::{self, User};
use crate::state_directory::{StateDirectory, StateError};
use crate::text::{Explain, printable};

const CHECK: &str = "state";

/// Less space is soon filled by copies of lists and the journal.
const LITTLE: u64 = 16 << 20;

/// Reports problems of the directory.
pub fn check(subject: &Subject, findings: &mut Findings) {
    let place = subject.state_dir.as_path();
    let shown = printable::path(place).to_string();
    let is_there = match fs::metadata(place) {
        Ok(found) if !found.is_dir() => {
            return findings.fail(
                CHECK,
                format!("{shown} is no directory"),
                Some(format!("mv {shown} {shown}.away")),
            );
        }
        Ok(_) => true,
        Err(error) if error.kind() == ErrorKind::NotFound => false,
        Err(_) => return findings.could_not_see(shown),
    };
    if is_there {
        if fs::read_dir(place).is_err_and(|error| error.kind() == ErrorKind::PermissionDenied) {
            return findings.could_not_see(shown);
        }
        let user = running_as(subject).or_else(|| accounts::default_user(None));
        let (user, group) = user.map_or_else(|| (geteuid(), getegid()), |user| (user.uid, user.gid));
        if let Err(error) = StateDirectory::new(place, &subject.socket, user, group).inspect() {
            return report(&shown, &error, findings);
        }
    }
    room(place, is_there, findings);
}

/// Reports why the directory cannot be used, unless only root can tell.
fn report(shown: &str, error: &StateError, findings: &mut Findings) {
    if error.needs_root() {
        return findings.could_not_see(format!("the owner and the content of {shown}"));
    }
    let (message, remedy) = told(&error.explain());
    findings.fail(CHECK, message, remedy);
}

/// The user of the daemon that answered, by name or number.
fn running_as(subject: &Subject) -> Option<User> {
    let user = &subject.daemon.answer()?.user;
    let numbered = || accounts::user_of(Uid::from_raw(user.parse().ok()?));
    accounts::user(user).ok().flatten().or_else(numbered)
}

/// Checks the space of the file system where the directory is or would be.
fn room(place: &Path, is_there: bool, findings: &mut Findings) {
    let shown = printable::path(place);
    let Some(found) = place.ancestors().find_map(|place| statvfs(place).ok()) else { return };
    if found.flags().contains(FsFlags::ST_RDONLY) {
        let remedy = format!("findmnt --target {shown}; or name another one with --state-dir");
        return findings.fail(CHECK, format!("{shown} is on a read-only file system"), Some(remedy));
    }
    let free = found.blocks_available() * found.fragment_size();
    // Some file systems have no limit on files, and report zero of zero.
    let is_out_of_files = found.files() > 0 && found.files_available() == 0;
    judge(&shown.to_string(), free, is_out_of_files, is_there, findings);
}

fn judge(shown: &str, free: u64, is_out_of_files: bool, is_there: bool, findings: &mut Findings) {
    let remedy = Some(format!("df -h {shown}; df -i {shown}"));
    let size = size(free);
    if is_out_of_files {
        findings.fail(
            CHECK,
            format!("{shown} cannot take more files: live entries would be lost in a restart"),
            remedy,
        );
    } else if free == 0 {
        findings.fail(
            CHECK,
            format!("{shown} is on a full disk: live entries would be lost in a restart"),
            remedy,
        );
    } else if free < LITTLE {
        findings.warn(CHECK, format!("{shown} has {size} free"), remedy);
    } else if is_there {
        findings.ok(CHECK, format!("{shown}, {size} free"));
    } else {
        findings.ok(
            CHECK,
            format!("{shown} does not exist yet: filterd creates it when it starts ({size} free)"),
        );
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::super::Health;
    use super::*;

    #[test]
    fn owner_is_left_to_root() {
        let told = |user: u32| {
            let (path, owner) = (PathBuf::from("/var/lib/filterd"), Uid::from_raw(990));
            let error = StateError::OfAnother { path, owner, user: Uid::from_raw(user), is_directory: true };
            let mut findings = Findings::default();
            report("/var/lib/filterd", &error, &mut findings);
            findings.unseen();
            let found = &findings.all()[0];
            (found.health, found.message.clone(), found.remedy.clone().unwrap())
        };
        let unseen = "not checked without root: the owner and the content of /var/lib/filterd";
        assert_eq!(told(1000), (Health::Warn, unseen.to_owned(), "sudo filterd doctor".to_owned()));
        let (health, _, remedy) = told(0);
        assert!(health == Health::Fail && remedy.contains("chown"), "{remedy}");
    }

    #[test]
    fn full_disk_is_reported() {
        let told = |free, is_out_of_files| {
            let mut findings = Findings::default();
            judge("/var/lib/filterd", free, is_out_of_files, true, &mut findings);
            (findings.all()[0].health, findings.all()[0].message.clone())
        };
        assert_eq!(told(1 << 30, false).0, Health::Ok);
        assert_eq!(told(0, false).0, Health::Fail);
        assert_eq!(told(1 << 30, true).0, Health::Fail);
        let (health, message) = told(4 << 10, false);
        assert!(health == Health::Warn && message.ends_with("4 KiB free"), "{message}");
    }
}
