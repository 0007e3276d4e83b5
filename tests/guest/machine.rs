//! A virtual machine to be: its processors, cards and disks, and where its kernel's words are kept.
//!
//! How QEMU is called, and with which kernel, `cargo xtask vm` knows and tells: one word a line.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::card::Card;
use crate::guest::Guest;
use crate::lan::Lan;

/// The words that call QEMU.
const QEMU: &str = "FILTERD_QEMU";

/// The directory in which every guest leaves what its kernel said.
const LOGS: &str = "FILTERD_QEMU_LOGS";

/// What to boot.
pub struct Machine<'lan> {
    lan: &'lan Lan,
    name: &'static str,
    words: Vec<String>,
}

impl<'lan> Machine<'lan> {
    /// One processor, no card and no disk. Names are for logs: no two stories use the same.
    pub fn new(name: &'static str, lan: &'lan Lan) -> Self {
        Self { lan, name, words: Vec::new() }
    }

    /// So many processors.
    pub fn cpus(self, cpus: usize) -> Self {
        self.with(&["-smp", &cpus.to_string()])
    }

    /// A virtio network card with so many queues, on a port of the lan named after the machine; with these words about
    /// the device.
    pub fn card(self, card: &Card, queues: usize, words: &str) -> Self {
        let (port, mac, vectors) = (self.name, card.mac, 2 * queues + 2);
        self.lan.plug(port, queues);
        let many = if queues > 1 { format!(",queues={queues}") } else { String::new() };
        let tap = format!("tap,id={port},ifname={port}{many},script=no,downscript=no");
        let card = format!("virtio-net-pci,netdev={port},mac={mac},mq=on,vectors={vectors}{words}");
        self.with(&["-netdev", &tap, "-device", &card])
    }

    /// A disk that has what it says it has written: nothing is left in a cache of its own.
    pub fn disk(self, image: &Path) -> Self {
        let image = format!("file={},format=raw,if=none,id=disk,cache=writethrough", image.display());
        self.with(&["-drive", &image, "-device", "virtio-blk-pci,drive=disk"])
    }

    /// Turns it on, and waits until it listens.
    #[track_caller]
    pub fn boot(self) -> Guest<'lan> {
        let log = logs().join(format!("{}.log", self.name));
        let qemu = env::var(QEMU).expect("`cargo xtask vm --ring guest` runs this, and tells");
        let mut command = self.lan.command("setpriv");
        command.args(["--pdeathsig", "KILL"]).args(qemu.lines()).args(&self.words);
        command.arg("-serial").arg(format!("file:{}", log.display())).args(["-serial", "stdio"]);
        Guest::boot(command.stdin(Stdio::piped()).stdout(Stdio::piped()), self.lan, log)
    }

    fn with(mut self, words: &[&str]) -> Self {
        self.words.extend(words.iter().map(|word| (*word).to_owned()));
        self
    }
}

/// Where guests leave their logs, and stories their disks.
pub fn logs() -> PathBuf {
    env::var_os(LOGS).map(PathBuf::from).expect("`cargo xtask vm --ring guest` runs this, and tells")
}
