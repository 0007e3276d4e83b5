//! The package's life in a whole Debian on a kernel of its own: `cargo xtask soak package` makes the disk, and tells this on each.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use harness::{ATTACKER, BYSTANDER, BYSTANDER6};

use crate::card::CARD;
use crate::guest::Guest;
use crate::lan::{Lan, until};
use crate::machine::{Machine, logs};
use crate::ping::Ping;

/// A disk with a Debian, and in `/packages` the package as an older and a newer one than it is.
const DEBIAN: &str = "FILTERD_DEBIAN";
const OLD: &str = "/packages/0.0.1.deb";
const NEW: &str = "/packages/999.0.0.deb";

/// Asks systemd for the daemon's process id.
const PID: &str = "systemctl show --property MainPID --value filterd";

/// Between one packet of the flood and the next: a guest under emulation takes some thousands a second.
const PAUSE: Duration = Duration::from_micros(500);

/// Does what comes over the wire, as `console` in tests/vm/init.sh did before.
const CONSOLE: &str = r#"exec </dev/ttyS1 >/dev/ttyS1 2>&1; stty -echo -onlcr; export PATH=/usr/sbin:/usr/bin:/sbin:/bin; echo "@@ listening"; while read -r line; do (eval "$line") </dev/null; echo "@@ exit $?"; done"#;

#[test]
#[ignore = "it wants a disk with a Debian"]
fn upgrade_restart_crash_and_downgrade_let_nothing_through() {
    let image = env::var_os(DEBIAN).expect("`cargo xtask soak package` makes the disk, and tells");
    let lan = Lan::new();
    let disk = Disk::copy_of(Path::new(&image));
    let mut guest = Machine::new("package", &lan).card(&CARD, 1, "").disk(&disk.0).boot();
    become_debian(&mut guest);
    guest.raise(&CARD, 1500);
    let bystander = lan.ping(BYSTANDER, CARD.v4, 56);
    until("it is on the network", || {
        bystander.send_again();
        bystander.is_answered()
    });
    guest.sh(&format!("dpkg --install {OLD}"));
    guest.sh(&format!(
        "sed -i 's/^interfaces: .*/interfaces: [eth0]/; s/^block: .*/block: [{ATTACKER}]/' /etc/filterd/filterd.yaml"
    ));
    guest.sh("systemctl start filterd");
    let happenings = [
        ("an upgrade", format!("dpkg --install {NEW}")),
        ("a restart", "systemctl restart filterd".to_owned()),
        ("a crash", "systemctl kill --signal KILL --kill-who main filterd".to_owned()),
        ("a downgrade", format!("dpkg --install --force-downgrade {OLD}")),
    ];
    for (what, line) in happenings {
        without_a_gap(&mut guest, &lan, what, &line);
    }
    guest.sh("systemctl stop filterd");
    let attacker = lan.ping(ATTACKER, CARD.v4, 56);
    until("a stop lets in whoever was dropped", || {
        attacker.send_again();
        attacker.is_answered()
    });
}

/// Leaves the small system that every guest begins with for the one on the disk, which listens on the same line.
fn become_debian(guest: &mut Guest<'_>) {
    guest.sh("mkdir /debian && mount -t ext4 /dev/vda /debian");
    let unit = "/debian/etc/systemd/system/story.service";
    let words = ["[Service]", "ExecStart=/bin/bash /story", "[Install]", "WantedBy=multi-user.target"];
    for word in words {
        guest.sh(&format!("echo '{word}' >>{unit}"));
    }
    guest.sh(&format!("echo '{CONSOLE}' >/debian/story"));
    let wants = "/debian/etc/systemd/system/multi-user.target.wants";
    guest.sh(&format!("mkdir -p {wants} && ln -s ../story.service {wants}/story.service"));
    guest.begin("exec switch_root /debian /lib/systemd/systemd");
    while guest.line() != "@@ listening" {}
}

/// While this happens the attacker sends without a pause: no kernel's own count of echo requests may move by it. An
/// unlisted source sends as well, over IPv6, which is counted apart.
fn without_a_gap(guest: &mut Guest<'_>, lan: &Lan, what: &str, line: &str) {
    let before = [echoes(guest), echoes6(guest)];
    let was = guest.sh(PID);
    let [attacker, bystander] =
        [(ATTACKER, CARD.v4), (BYSTANDER6, CARD.v6)].map(|(from, to)| lan.ping(from, to, 56));
    let is_over = AtomicBool::new(false);
    let sent = thread::scope(|scope| {
        let flood = scope.spawn(|| knock(&[&attacker, &bystander], &is_over));
        let stop = Stop(&is_over);
        guest.sh(line);
        guest.sh(&format!(
            "until systemctl is-active --quiet filterd && test $({PID}) != {}; do sleep 0.1; done",
            was.trim()
        ));
        drop(stop);
        flood.join().expect("it does not panic")
    });
    let passed = echoes(guest) - before[0];
    let others = echoes6(guest) - before[1];
    println!("{what}: of {sent} packets of a listed source {passed} passed, of another one {others}");
    assert_eq!(passed, 0, "{what}");
    assert!(others > 0 && !attacker.is_answered(), "{what}");
}

/// How many echo requests came through to the kernel.
fn echoes(guest: &mut Guest<'_>) -> u64 {
    let told = guest.sh("cat /proc/net/snmp");
    let mut lines = told.lines().filter_map(|told| told.strip_prefix("Icmp:"));
    let (names, numbers) = (lines.next().expect("names"), lines.next().expect("numbers"));
    let mut named = names.split_whitespace().zip(numbers.split_whitespace());
    let (_, number) = named.find(|(name, _)| *name == "InEchos").expect("it is counted");
    number.parse().expect("a number")
}

fn echoes6(guest: &mut Guest<'_>) -> u64 {
    let told = guest.sh("grep Icmp6InEchos /proc/net/snmp6");
    told.split_whitespace().last().and_then(|number| number.parse().ok()).expect("a number")
}

/// Ends the flood, also when the story fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// How many did it send of each?
fn knock(pings: &[&Ping], is_over: &AtomicBool) -> u64 {
    let mut sent = 1;
    while !is_over.load(Ordering::Relaxed) {
        pings.iter().for_each(|ping| ping.send_again());
        sent += 1;
        thread::sleep(PAUSE);
    }
    sent
}

/// A disk that the story may write to.
struct Disk(PathBuf);

impl Disk {
    fn copy_of(image: &Path) -> Self {
        let copy = logs().join("package.disk");
        fs::copy(image, &copy).expect("logs can be written");
        Self(copy)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
