//! How long others wait while a million come or go, by a reload or a command: one address after the other is added over a
//! line of its own, until that is answered.

use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use filterd::control::client::Client;
use filterd::control::wire::Add;
use harness::{Home, Net, Reply};

use super::bulk::CHANGES;
use super::timed;
use crate::lists;

/// What came out beside one of these.
#[derive(Debug)]
pub struct Wait {
    pub way: &'static str,
    /// How many were answered meanwhile.
    pub answers: usize,
    /// So long, in milliseconds, waited one in a hundred, or longer.
    pub percentile_99: f64,
    pub worst: f64,
    /// And so long the address before all of these, which is not beside anything: the first of its family waits for what judges
    /// it, too.
    pub before: f64,
}

/// Measures all.
pub fn measure() -> Result<Vec<Wait>> {
    let mut net = Net::new();
    net.file("crowd.txt", "");
    net.start(&format!("mode: native\ndurable: false\n{}", lists::CROWD));
    let lines = lists::lines(CHANGES);
    let mut waits = Vec::new();
    for (way, text) in [("a reload adds a million", &*lines), ("a reload releases a million", "")] {
        net.file("crowd.txt", text);
        waits.push(beside(&net, way, reload)?.0);
    }
    let add = |home: &Home| home.filterd_reading(["add", "-", "--list", "live"], &lines);
    // The reload has made the tables small, so that they grow again, one after the other.
    waits.push(beside(&net, "a million are added, and tables grow", add)?.0);
    waits.push(beside(&net, "a million are flushed", |home| home.filterd(["flush", "--list", "live"]))?.0);
    waits.push(beside(&net, "a million are added", add)?.0);
    waits
        .push(beside(&net, "a million are removed", |home| home.filterd_reading(["remove", "-"], &lines))?.0);
    Ok(waits)
}

/// What the daemon reads its configuration again by.
pub fn reload(home: &Home) -> Reply {
    home.filterd(["reload"])
}

/// What somebody else's act makes others wait for, and how long that took.
pub fn beside(
    net: &Net,
    way: &'static str,
    act: impl FnOnce(&Home) -> Reply + Send,
) -> Result<(Wait, Duration)> {
    let mut client = Client::connect(&net.home().socket()).context("it does not listen")?;
    let home = net.home();
    let mut addresses = (2 * CHANGES..).map(lists::address);
    let mut add_next = || {
        let add = Add { targets: addresses.by_ref().take(1).collect(), ..Add::default() };
        let (added, each) = timed(|| client.call(&add));
        added.context("filterd does not add")?;
        anyhow::Ok(each)
    };
    let before = add_next()?;
    let (mut took, acted) = thread::scope(|scope| {
        let acting = scope.spawn(|| timed(|| act(home).succeeds()).1);
        let mut took: Vec<Duration> = Vec::new();
        while !acting.is_finished() {
            took.push(add_next()?);
        }
        let acted = acting.join().map_err(|_| anyhow!("it failed"))?;
        anyhow::Ok((took, acted))
    })?;
    took.sort_unstable();
    let at = |share: usize| took.get(took.len() * share / 100).or(took.last()).copied().unwrap_or_default();
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
    let (percentile_99, worst) = (milliseconds(at(99)), milliseconds(at(100)));
    Ok((Wait { way, answers: took.len(), percentile_99, worst, before: milliseconds(before) }, acted))
}
