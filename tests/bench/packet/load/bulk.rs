//! A million changes at once, on a quiet wire and under a flood.
//!
//! The flood stays on one processor and has its share of it, as the kernel's own thread for frames does. One in two of
//! its frames is of a source that comes and goes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use filterd_measure::figures::Figures;
use filterd_measure::processor;
use harness::{Net, Reply};

use crate::lists;
use crate::live::contender;
use crate::live::flood::{self, Flood};
use crate::plan::Senders;
use crate::subject::Stage;

/// How many change each time.
pub const CHANGES: u32 = 1_000_000;

/// What came out for one way of changing.
#[derive(Debug)]
pub struct Bulk {
    pub way: &'static str,
    /// Changes a second.
    pub quiet: Figures,
    pub flooded: Figures,
    /// Frames a second that filterd judged meanwhile.
    pub frames: Figures,
}

/// One way of changing, once.
struct Sample {
    way: &'static str,
    changes_a_second: f64,
    frames_a_second: f64,
}

/// Measures each way so many times.
pub fn measure(stage: &Stage<'_>, times: usize) -> Result<Vec<Bulk>> {
    let flood = flood::load(stage, Senders::Half, CHANGES)?;
    let (mut quiet, mut flooded) = (Vec::new(), Vec::new());
    for _ in 0..times {
        quiet.push(both_kinds(changes)?);
        flooded.push(both_kinds(|net, durable| during(&flood, net, || changes(net, durable)))?);
    }
    let merge = |at: usize| {
        let of = |rounds: &[Vec<Sample>], figure: fn(&Sample) -> f64| {
            Figures::of(rounds.iter().map(|round| figure(&round[at])).collect())
        };
        Bulk {
            way: quiet[0][at].way,
            quiet: of(&quiet, |sample| sample.changes_a_second),
            flooded: of(&flooded, |sample| sample.changes_a_second),
            frames: of(&flooded, |sample| sample.frames_a_second),
        }
    };
    Ok((0..quiet[0].len()).map(merge).collect())
}

/// With a daemon that writes what is added to disk before it answers, and with one that does not.
fn both_kinds(measure: impl Fn(&Net, bool) -> Result<Vec<Sample>>) -> Result<Vec<Sample>> {
    let mut samples = Vec::new();
    for durable in [true, false] {
        let mut net = contender::wire()?;
        net.file("crowd.txt", "");
        net.start(&format!("mode: native\ndurable: {durable}\n{}", lists::CROWD));
        samples.extend(measure(&net, durable)?);
    }
    Ok(samples)
}

fn changes(net: &Net, durable: bool) -> Result<Vec<Sample>> {
    let lines = lists::lines(CHANGES);
    let standard_input = |verb| net.filterd_reading([verb, "-", "--json"], &lines);
    if !durable {
        return Ok(vec![
            sample(net, "filterd add -, not durable", "entered", || standard_input("add"))?,
            sample(net, "filterd remove -, not durable", "left", || standard_input("remove"))?,
        ]);
    }
    let reload = || net.filterd(["reload", "--json"]);
    net.file("crowd.txt", &lines);
    let comes = sample(net, "a list file that has become so much longer", "entered", reload)?;
    net.file("crowd.txt", "");
    let goes = sample(net, "a list file that has become so much shorter", "left", reload)?;
    let added = sample(net, "filterd add -, durable", "entered", || standard_input("add"))?;
    let removed = sample(net, "filterd remove -, durable", "left", || standard_input("remove"))?;
    Ok(vec![comes, goes, added, removed])
}

/// Does it, and looks into the answer whether all that was asked for is done.
fn sample(net: &Net, way: &'static str, what: &str, act: impl FnOnce() -> Reply) -> Result<Sample> {
    let (before, begun) = (judged(net), Instant::now());
    let reply = act().succeeds().json();
    let took = begun.elapsed().as_secs_f64();
    let frames = judged(net) - before;
    ensure!(reply[what] == CHANGES, "{way}: {reply}");
    Ok(Sample {
        way,
        changes_a_second: f64::from(CHANGES) / took,
        frames_a_second: frames as f64 / begun.elapsed().as_secs_f64(),
    })
}

/// How many packets filterd has judged.
fn judged(net: &Net) -> u64 {
    let stats = net.filterd(["stats", "--json"]).succeeds().json();
    let reasons = stats["reasons"].as_array().expect("stats has reasons");
    reasons.iter().filter_map(|row| row["packets"].as_u64()).sum()
}

/// Does something while frames come in.
fn during<T>(flood: &Flood, net: &Net, act: impl FnOnce() -> Result<T>) -> Result<T> {
    const FRAMES: u32 = 500_000;
    let over = AtomicBool::new(false);
    let (flows, flowing) = mpsc::channel();
    thread::scope(|scope| {
        let (is_over, peer) = (&over, net.peer());
        let sending = scope.spawn(move || {
            processor::stay()?;
            while !is_over.load(Ordering::Relaxed) {
                flood.send(peer, FRAMES)?;
                _ = flows.send(());
            }
            anyhow::Ok(())
        });
        let ends = Ends(&over);
        // It hangs up where it fails, and tells why below.
        let done = flowing.recv().map(|()| act());
        drop(ends);
        sending.join().expect("a flood does not panic")?;
        done.context("there was no flood")?
    })
}

/// Ends the flood, even where what goes on meanwhile panics.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
