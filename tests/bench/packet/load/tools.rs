//! ipset and nft, in a network namespace of their own.

use std::fs::{self, File};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use harness::Net;

use super::{Fill, timed};
use crate::lists;

/// A host with a set of either kind.
pub struct Holding {
    net: Net,
}

const HOOK: &str = "prerouting priority raw";

/// Loads a list into a set of each kind.
pub fn fills(entries: u32) -> Result<Vec<Fill>> {
    let net = Net::new();
    let took = fed(&net, &["ipset", "restore"], &lists::ipset(entries))?;
    let fill = |way, took: Duration, bytes| Fill { way, entries, seconds: vec![took.as_secs_f64()], bytes };
    let ipset = fill("ipset restore", took, Some(ipset_bytes(&net)?));
    drop(net);
    let net = Net::new();
    let ruleset = lists::nft("ip", HOOK, entries);
    let before = kernel_bytes()?;
    let took = fed(&net, &["nft", "--file", "-"], &ruleset)?;
    let bytes = kernel_bytes()?.saturating_sub(before);
    Ok(vec![ipset, fill("nft --file", took, Some(bytes))])
}

/// Sets of so many.
pub fn holding(entries: u32) -> Result<Holding> {
    let net = Net::new();
    fed(&net, &["ipset", "restore"], &lists::ipset(entries))?;
    fed(&net, &["nft", "--file", "-"], &lists::nft("ip", HOOK, entries))?;
    Ok(Holding { net })
}

impl Holding {
    /// What any command takes.
    pub fn nothing(&self) -> Duration {
        self.time(&["true"])
    }

    pub fn ipset(&self, address: &str) -> Duration {
        self.time(&["ipset", "add", "crowd", address])
    }

    pub fn nft(&self, address: &str) -> Duration {
        self.time(&["nft", "add", "element", "ip", "bench", "crowd", "{", address, "}"])
    }

    /// What a thread starts stays where the thread is: nothing else is started on the way.
    fn time(&self, words: &[&str]) -> Duration {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).stdin(Stdio::null());
        let (output, took) = self.net.host().inside(|| timed(|| command.output()));
        let output = output.expect("it was found before");
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        took
    }
}

/// Runs a command with this on its standard input, out of a file.
fn fed(net: &Net, words: &[&str], input: &str) -> Result<Duration> {
    let input = File::open(net.file("input", input))?;
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).stdin(input);
    let (status, took) = net.host().inside(|| timed(|| command.status()));
    ensure!(status.with_context(|| format!("cannot start {}", words[0]))?.success(), "{words:?} failed");
    Ok(took)
}

/// What ipset says of itself.
fn ipset_bytes(net: &Net) -> Result<u64> {
    let told = net.host().command("ipset").args(["list", "-terse", "crowd"]).output()?.stdout;
    let told = String::from_utf8_lossy(&told).into_owned();
    let line = told.lines().find_map(|line| line.strip_prefix("Size in memory: "));
    line.and_then(|bytes| bytes.trim().parse().ok()).with_context(|| format!("ipset tells no size: {told}"))
}

/// All that the kernel has for itself. nft tells no sizes: what this grows by is the set, and whatever else happens.
fn kernel_bytes() -> Result<u64> {
    const OWN: [&str; 2] = ["SUnreclaim:", "VmallocUsed:"];
    let text = fs::read_to_string("/proc/meminfo")?;
    let lines = text.lines().filter(|line| OWN.iter().any(|own| line.starts_with(own)));
    let kilobytes = lines.filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    Ok(kilobytes.sum::<u64>() << 10)
}
