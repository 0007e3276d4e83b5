//! IPv6 lists: how long until they filter, how much memory they take at every size, and how long others wait meanwhile.

use std::thread;
use std::time::Duration;

use anyhow::{Result, ensure};
use filterd_measure::tables::{Table, grouped};
use harness::Net;

use super::waits::{self, Wait};
use super::{filterd, timed};
use crate::lists;

/// What came out for one list.
#[derive(Debug)]
pub struct Six {
    pub way: Way,
    pub entries: u32,
    pub seconds: f64,
    /// Bytes of the table of IPv6 alone, of the levels in front of it, and of everything: labels, counters and what else there
    /// always is.
    pub table: u64,
    pub levels: u64,
    pub all: u64,
    /// How long an answer took at most meanwhile, in milliseconds, if somebody asked; and the first one ever, before that.
    pub worst: Option<f64>,
    pub first: Option<f64>,
}

/// How it came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// /64s out of a file.
    File,
    /// /64s, live, [`AT_A_TIME`] in a command.
    Grown,
    /// Countries' prefixes out of a file: of IPv6, and of IPv4.
    World6,
    World4,
}

/// How the names of pins of IPv6 tables and levels begin.
const TABLE: &str = "six-";
const LEVELS: &str = "levels-";

const AT_A_TIME: u32 = 50_000;

const SIZES: [u32; 9] =
    [100_000, 200_000, 400_000, 700_000, 1_000_000, 2_000_000, 4_000_000, 7_000_000, 10_000_000];
const GROWN: [u32; 3] = [150_000, 400_000, 1_000_000];

/// The lists' seed.
const SEED: u64 = 1;

/// Measures all of them; in the `short` form the small ones.
pub fn measure(short: bool) -> Result<Vec<Six>> {
    let (sizes, grown) = if short { (&SIZES[..1], &[][..]) } else { (&SIZES[..], &GROWN[..]) };
    let text = |targets: Vec<String>| targets.join("\n");
    let (six, four) = (real::world6(SEED), real::world4(SEED));
    let mut all = vec![
        file(Way::World6, six.len(), &text(six.iter().map(ToString::to_string).collect()))?,
        file(Way::World4, four.len(), &text(four.iter().map(ToString::to_string).collect()))?,
    ];
    for &entries in sizes {
        eprintln!("{entries} IPv6 /64s");
        all.push(file(Way::File, entries as usize, &lists::networks(entries))?);
    }
    for &entries in grown {
        eprintln!("{entries} IPv6 /64s, bit by bit");
        all.push(grow(entries)?);
    }
    Ok(all)
}

/// Out of a file, by a daemon that runs, and that somebody else asks all the time.
fn file(way: Way, entries: usize, list: &str) -> Result<Six> {
    let mut net = Net::new();
    net.file("crowd.txt", "");
    net.start(&format!("mode: native\ndurable: false\n{}", lists::CROWD));
    net.file("crowd.txt", list);
    let (wait, took) = waits::beside(&net, "a list comes", waits::reload)?;
    told(&net, way, entries as u32, took, Some(&wait))
}

/// By commands, until all are there. Nobody else asks.
fn grow(entries: u32) -> Result<Six> {
    let net = Net::with_filterd("durable: false");
    let (_, took) = timed(|| {
        for first in (1..=entries).step_by(AT_A_TIME as usize) {
            net.filterd_reading(["add", "-"], &lists::networks_from(first, AT_A_TIME)).succeeds();
        }
    });
    told(&net, Way::Grown, entries, took, None)
}

fn told(net: &Net, way: Way, entries: u32, took: Duration, wait: Option<&Wait>) -> Result<Six> {
    let pins = net.home().pins();
    // While a table grows there are two.
    while filterd::tables(pins, TABLE)?.len() > 1 {
        thread::sleep(Duration::from_millis(50));
    }
    let bytes = |name| filterd::bytes(&filterd::tables(pins, name)?);
    let (table, levels, all) = (bytes(TABLE)?, bytes(LEVELS)?, filterd::memory(pins)?);
    ensure!(way == Way::World4 || levels > 0, "no levels are pinned by the name of {LEVELS}*");
    ensure!(way == Way::World4 || table > 0, "no table of IPv6 is pinned by the name of {TABLE}*");
    let (worst, first) = (wait.map(|wait| wait.worst), wait.map(|wait| wait.before));
    Ok(Six { way, entries, seconds: took.as_secs_f64(), table, levels, all, worst, first })
}

impl Six {
    /// Bytes of the table an entry.
    pub fn each(&self) -> f64 {
        self.table as f64 / f64::from(self.entries)
    }

    /// And of the levels.
    pub fn each_with_levels(&self) -> f64 {
        (self.table + self.levels) as f64 / f64::from(self.entries)
    }

    fn row(&self) -> Vec<String> {
        let way = match self.way {
            Way::File => "/64s from a file",
            Way::Grown => "/64s, live, bit by bit",
            Way::World6 => "IPv6 prefixes of all countries",
            Way::World4 => "IPv4 prefixes of all countries",
        };
        vec![
            format!("{} {way}", grouped(self.entries.into())),
            format!("{:.3}", self.seconds),
            if self.table == 0 { String::new() } else { format!("{:.2}", self.each()) },
            if self.table == 0 { String::new() } else { format!("{:.2}", self.each_with_levels()) },
            format!("{:.2}", self.all as f64 / f64::from(self.entries)),
            self.worst.map_or_else(String::new, |worst| format!("{worst:.1}")),
            self.first.map_or_else(String::new, |first| format!("{first:.1}")),
        ]
    }
}

/// All of it.
pub fn table(all: &[Six]) -> Table {
    let heads = [
        "entries",
        "seconds",
        "bytes an entry, IPv6 table",
        "and levels",
        "all maps",
        "longest answer, ms",
        "first address, ms",
    ];
    Table {
        title: "IPv6 lists".to_owned(),
        heads: heads.map(str::to_owned).into(),
        rows: all.iter().map(Six::row).collect(),
    }
}
