//! The power goes in the middle of it all, and comes back.

use harness::limited::LimitedCommand;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::guest::Guest;
use crate::lan::Lan;
use crate::machine::{self, Machine};

/// So much has been acknowledged when the power goes.
const ACKNOWLEDGED: usize = 40;

/// Room for a journal and the file system's own.
const SIZE: u64 = 64 << 20;

/// Adds one address after the other, and one more that it takes back; prints a line when either has been acknowledged.
const CHANGES: &str = "i=0; while :; do i=$((i + 1)); \
    filterd add 10.ROUND.0.$i >/dev/null && echo add 10.ROUND.0.$i; \
    filterd add 10.ROUND.1.$i >/dev/null && filterd remove 10.ROUND.1.$i >/dev/null && echo remove 10.ROUND.1.$i; \
    done";

#[test]
fn acknowledged_changes_survive_power_loss() {
    let lan = Lan::new();
    let disk = Disk::new("power-loss");
    let mut acknowledged = BTreeSet::new();
    for round in ["1", "2"] {
        let mut guest = boot(&lan, &disk);
        holds(&mut guest, &acknowledged);
        guest.begin(&CHANGES.replace("ROUND", round));
        acknowledged.extend((0..ACKNOWLEDGED).map(|_| guest.line()));
        guest.pull_the_plug();
    }
    holds(&mut boot(&lan, &disk), &acknowledged);
}

/// A machine whose filterd keeps its state on this disk.
fn boot<'lan>(lan: &'lan Lan, disk: &Disk) -> Guest<'lan> {
    let mut guest = Machine::new("power-loss", lan).disk(&disk.image).boot();
    guest.sh("mkdir /disk && mount -t ext4 /dev/vda /disk");
    guest.start_filterd("--no-config --iface lo --state-dir /disk/filterd");
    guest
}

/// Is everything as it was acknowledged?
#[track_caller]
fn holds(guest: &mut Guest<'_>, acknowledged: &BTreeSet<String>) {
    let list = guest.filterd("list --json");
    let entries = list.lines().map(|line| serde_json::from_str::<Value>(line).expect("filterd speaks JSON"));
    let found: BTreeSet<String> =
        entries.filter_map(|entry| entry["target"].as_str().map(ToOwned::to_owned)).collect();
    let is_wrong = |line: &&String| match line.split_once(' ') {
        Some(("add", target)) => !found.contains(target),
        Some(("remove", target)) => found.contains(target),
        _ => panic!("the guest said {line:?}"),
    };
    let wrong: Vec<_> = acknowledged.iter().filter(is_wrong).collect();
    assert!(wrong.is_empty(), "{} of {} did not survive: {wrong:?}", wrong.len(), acknowledged.len());
}

/// An ext4 file system in a file; removed when dropped.
struct Disk {
    image: PathBuf,
}

impl Disk {
    fn new(name: &str) -> Self {
        let image = machine::logs().join(format!("{name}.img"));
        let file = File::create(&image).expect("there is a place for logs");
        file.set_len(SIZE).expect("a sparse file takes no room");
        let made = Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&image).limited_status();
        assert!(made.is_ok_and(|status| status.success()), "mkfs.ext4 fails: is e2fsprogs there?");
        Self { image }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.image);
    }
}
