//! Checks the BPF file system, whose pins keep the filter attached without the daemon.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nix::libc::{S_IFLNK, S_IFMT};
use nix::sys::statfs::{BPF_FS_MAGIC, statfs};
use nix::sys::statvfs::FsFlags;

use super::{Findings, Subject};
use crate::mount_namespace;
use crate::text::printable;

const CHECK: &str = "bpffs";

/// The usual mount point, where filterd mounts it itself if needed.
const USUAL: &str = "sys/fs/bpf";

const MOUNT: &str = "mount -t bpf bpf /sys/fs/bpf";

/// Checks the pin directory: its file system, whether it is writable, and its owner.
pub fn check(subject: &Subject, findings: &mut Findings) {
    let usual = subject.file(USUAL);
    let is_usual = subject.pin_dir.starts_with(&usual);
    let shown = printable::path(&subject.pin_dir).to_string();
    let Some(place) = subject
        .pin_dir
        .ancestors()
        .find(|path| !matches!(fs::metadata(path), Err(error) if error.kind() == ErrorKind::NotFound))
    else {
        return;
    };
    let (is_bpffs, flags) = match statfs(place) {
        Ok(found) => (found.filesystem_type() == BPF_FS_MAGIC, found.flags()),
        // At least the parent directory is reported.
        Err(nix::errno::Errno::EACCES) => return findings.could_not_see(format!("the pins at {shown}")),
        Err(error) => return findings.fail(CHECK, format!("cannot read {shown}: {error}"), None),
    };
    let proc = subject.file("proc");
    if !is_bpffs && is_usual && usual.is_dir() && mount_namespace::would_end_with_ours(&proc, &usual) {
        let told = "no BPF file system at /sys/fs/bpf: filterd would mount one only in this mount namespace, so a crash would remove the filter";
        return findings.warn(CHECK, told, Some(mount_namespace::cure()));
    }
    if !is_bpffs && is_usual && usual.is_dir() {
        let told = "no BPF file system at /sys/fs/bpf: filterd mounts one when it starts, if permitted";
        return findings.warn(CHECK, told, Some(MOUNT.to_owned()));
    }
    if !is_bpffs {
        let remedy =
            if is_usual { MOUNT.to_owned() } else { format!("mkdir -p {shown} && mount -t bpf bpf {shown}") };
        return findings.fail(CHECK, format!("{shown} would not be on a BPF file system"), Some(remedy));
    }
    if flags.contains(FsFlags::ST_RDONLY) {
        let remedy = format!(
            "mount -o remount,rw {} (for a service: no ProtectKernelTunables=)",
            printable::path(place)
        );
        return findings.fail(
            CHECK,
            format!("{} is mounted read-only", printable::path(place)),
            Some(remedy),
        );
    }
    let pins = fs::symlink_metadata(&subject.pin_dir);
    let are_trusted = pins.as_ref().map_or(true, |pins| are_roots_alone(pins.uid(), pins.mode()));
    if are_trusted && mount_namespace::ends_with_ours(&proc, place, true) {
        let told = format!(
            "{} is mounted only in this mount namespace: a crash would remove the filter",
            printable::path(place)
        );
        return findings.warn(CHECK, told, Some(mount_namespace::cure()));
    }
    match pins {
        Ok(pins) => judge_pins(&subject.pin_dir, pins.uid(), pins.mode(), findings),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            findings.could_not_see(format!("the pins at {shown}"))
        }
        Err(_) => findings.ok(CHECK, format!("mounted; nothing is pinned at {shown}")),
    }
}

const fn are_roots_alone(owner: u32, mode: u32) -> bool {
    owner == 0 && mode & 0o077 == 0
}

/// Users who may write there can detach the filter, so that filterd accepts only a directory of root alone.
fn judge_pins(place: &Path, owner: u32, mode: u32, findings: &mut Findings) {
    let shown = printable::path(place);
    let is_link = mode & S_IFMT == S_IFLNK;
    if is_link || !are_roots_alone(owner, mode) {
        let told = format!(
            "{shown} is not accessible by root only (user {owner}, mode {:04o}{}): filterd does not use it",
            mode & 0o7777,
            if is_link { ", a link" } else { "" }
        );
        // If the pin directory is a link, `chmod` would change its target.
        let is_theirs = owner != 0 || is_link;
        let remedy =
            if is_theirs { format!("mv -T {shown} {shown}-taken") } else { format!("chmod 0700 {shown}") };
        return findings.fail(CHECK, told, Some(remedy));
    }
    findings.ok(CHECK, format!("mounted; pins of filterd at {shown}"));
}

#[cfg(test)]
mod tests {
    use super::super::Health;
    use super::*;

    #[test]
    fn pins_are_to_be_roots_alone() {
        let told = |owner, mode| {
            let mut findings = Findings::default();
            judge_pins(Path::new("/sys/fs/bpf/filterd"), owner, mode, &mut findings);
            (findings.all()[0].health, findings.all()[0].remedy.clone())
        };
        let place = "/sys/fs/bpf/filterd";
        let away = Some(format!("mv -T {place} {place}-taken"));
        assert_eq!(told(0, 0o40700), (Health::Ok, None));
        assert_eq!(told(0, 0o40755), (Health::Fail, Some(format!("chmod 0700 {place}"))));
        assert_eq!(told(1000, 0o40700), (Health::Fail, away.clone()));
        assert_eq!(told(0, 0o120_777), (Health::Fail, away));
    }
}
