//! Lists as large as operators have them, all at once and from files: how long until a start filters, how long a reload takes
//! that changes one in a hundred, who waits for it, and what memory the daemon has.

use std::fmt::Display;
use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};
use filterd_measure::tables::{Table, grouped};
use harness::Net;

use super::timed;
use super::waits::{self, Wait};

/// Addresses, and prefixes of each family.
const ADDRESSES: usize = 1_770_000;
const PREFIXES: usize = 56_000;

/// One in so many is another one when the files are read again.
const CHANGED: usize = 100;

/// The lists' seed.
const SEED: u64 = 1;

const CONFIG: &str = "mode: native
durable: false
lists:
- {name: addresses, path: $HOME/addresses.txt, include_special: true, max_entries: 10000000}
- {name: four, path: $HOME/four.txt, include_special: true}
- {name: six, path: $HOME/six.txt, include_special: true}";

/// What came out.
#[derive(Debug)]
pub struct Size {
    /// From the start of the process until it is ready, without copies of the lists and with them.
    pub starts: [Duration; 2],
    /// From the start of the command to its end.
    pub reload: Duration,
    pub wait: Wait,
    /// Bytes of the daemon that are in memory, after the reload.
    pub resident: u64,
}

/// Measures it.
pub fn measure() -> Result<Size> {
    let mut net = Net::new();
    let before = lists(0);
    write(&net, &before);
    let (_, first) = timed(|| net.start(CONFIG));
    write(&net, &lists(CHANGED));
    let (wait, reload) = waits::beside(&net, "a reload changes one in a hundred of 1.88 M", waits::reload)?;
    let resident = resident(&net)?;
    _ = net.stop();
    let (_, again) = timed(|| net.start(CONFIG));
    Ok(Size { starts: [first, again], reload, wait, resident })
}

/// Every `changed`th entry is another one than in the lists of 0.
fn lists(changed: usize) -> [(&'static str, String); 3] {
    let mut addresses = real::bans::four(ADDRESSES + ADDRESSES / CHANGED, SEED);
    let (mut four, mut six) = (real::world4(SEED), real::world6(SEED));
    // The sizes that are aimed at, and not the first ones of the world alone.
    spread(&mut four, PREFIXES + PREFIXES / CHANGED);
    spread(&mut six, PREFIXES + PREFIXES / CHANGED);
    [
        ("addresses.txt", text(&mut addresses, ADDRESSES, changed)),
        ("four.txt", text(&mut four, PREFIXES, changed)),
        ("six.txt", text(&mut six, PREFIXES, changed)),
    ]
}

fn spread<T: Copy>(all: &mut Vec<T>, count: usize) {
    let of = all.len().max(1);
    *all = (0..count.min(of)).map(|at| all[at * of / count.min(of)]).collect();
}

/// So many lines; what is beyond stands in for every `changed`th.
fn text<T: Display + Copy>(all: &mut Vec<T>, count: usize, changed: usize) -> String {
    let spare = all.split_off(count.min(all.len()));
    let mut spare = spare.into_iter();
    if changed > 0 {
        for one in all.iter_mut().step_by(changed) {
            *one = spare.next().unwrap_or(*one);
        }
    }
    all.iter().map(|one| format!("{one}\n")).collect()
}

fn write(net: &Net, lists: &[(&'static str, String)]) {
    lists.iter().for_each(|(name, text)| drop(net.file(name, text)));
}

fn resident(net: &Net) -> Result<u64> {
    let pid =
        net.filterd(["ping", "--json"]).succeeds().json()["pid"].as_u64().context("it tells its number")?;
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("the kernel tells it")?;
    let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kilobytes * 1024)
}

/// All of it.
pub fn table(size: Option<&Size>) -> Table {
    let rows = size.map_or_else(Vec::new, |size| {
        let seconds = |time: Duration| format!("{:.3} s", time.as_secs_f64());
        vec![
            vec!["started, and filters".to_owned(), seconds(size.starts[0])],
            vec!["started again, with copies of the lists".to_owned(), seconds(size.starts[1])],
            vec!["reloaded, one in a hundred changed".to_owned(), seconds(size.reload)],
            vec!["longest answer to another client".to_owned(), format!("{:.1} ms", size.wait.worst)],
            vec!["the daemon in memory".to_owned(), format!("{} MB", grouped(size.resident / 1_000_000))],
        ]
    });
    Table {
        title: "1,770,000 addresses and 56,000 prefixes of each family".to_owned(),
        heads: ["what", "measured"].map(str::to_owned).into(),
        rows,
    }
}
