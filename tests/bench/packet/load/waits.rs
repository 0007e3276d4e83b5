//! How long others wait while a list of a million comes or goes: one address after the other is added over a line of its
//! own, until the reload is answered.

use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use filterd::control::client::Client;
use filterd::control::wire::Add;
use harness::Net;

use super::bulk::CHANGES;
use super::timed;
use crate::lists;

/// What came out beside one kind of reload.
#[derive(Debug)]
pub struct Wait {
    pub way: &'static str,
    /// How many were answered meanwhile.
    pub answers: usize,
    /// So long, in milliseconds, waited one in a hundred, or longer.
    pub percentile_99: f64,
    pub worst: f64,
}

/// Measures both.
pub fn measure() -> Result<Vec<Wait>> {
    let mut net = Net::new();
    net.file("crowd.txt", "");
    net.start("durable: false\nlists: [{name: crowd, path: $HOME/crowd.txt, max_shrink: 100%}]");
    let mut waits = Vec::new();
    for (way, text) in
        [("a reload adds a million", lists::lines(CHANGES)), ("a reload releases a million", String::new())]
    {
        net.file("crowd.txt", &text);
        waits.push(beside(&net, way)?.0);
    }
    Ok(waits)
}

/// A reload, and how long it took.
pub fn beside(net: &Net, way: &'static str) -> Result<(Wait, Duration)> {
    let mut client = Client::connect(&net.home().socket()).context("it does not listen")?;
    let home = net.home();
    let (mut took, reloaded) = thread::scope(|scope| {
        let reloading = scope.spawn(|| timed(|| home.filterd(["reload"]).succeeds()).1);
        let mut took: Vec<Duration> = Vec::new();
        for address in (2 * CHANGES..).map(lists::address) {
            if reloading.is_finished() {
                break;
            }
            let add = Add { targets: [&address].into_iter().collect(), ..Add::default() };
            let (added, each) = timed(|| client.call(&add));
            added.context("filterd does not add")?;
            took.push(each);
        }
        let reloaded = reloading.join().map_err(|_| anyhow!("the reload failed"))?;
        anyhow::Ok((took, reloaded))
    })?;
    took.sort_unstable();
    let at = |share: usize| took.get(took.len() * share / 100).or(took.last()).copied().unwrap_or_default();
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
    let (percentile_99, worst) = (milliseconds(at(99)), milliseconds(at(100)));
    Ok((Wait { way, answers: took.len(), percentile_99, worst }, reloaded))
}
