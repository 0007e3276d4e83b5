//! Live frames: the kernel sends them over a veth pair as a driver would, and the receiving end's work is done by the
//! thread that sends, in its own time. Each contender stands at a wire of its own; all take their turns.

pub mod contender;
pub mod flood;
mod ordinary;
mod report;
mod streams;

use std::time::Duration;

use anyhow::{Result, ensure};
use filterd_measure::figures::Figures;
use pages::page::Page;

use crate::plan::{Amount, Senders};
use crate::rounds;
use crate::subject::Stage;

use contender::{CONTENDERS, Contender, Guarded};
use flood::Flood;
use ordinary::Ordinary;

/// How many are listed.
const ENTRIES: u32 = 1_000_000;

/// From so many of these a flood comes, beside that from all of them.
const FLOOD: u32 = 10_000;

/// What came out for one contender, in nanoseconds a frame, with what sending it takes.
#[derive(Debug)]
struct Outcome {
    of: Contender,
    listed: Figures,
    flood: Figures,
    unlisted: Figures,
    /// What an unguarded host took in the same round is subtracted.
    added: Figures,
    /// The first and the last of these for frames in ordinary buffers.
    ordinary_listed: Figures,
    ordinary_added: Figures,
    /// The rate of a TCP stream, in Gbit/s. None where nothing passes.
    stream: Option<Figures>,
}

/// The figures of one round: frames from listed sources, from a few of them, from others; and in ordinary buffers, from listed
/// sources and from others.
const KINDS: usize = 5;

/// Measures all contenders.
pub fn run(stage: &Stage<'_>, short: bool) -> Result<Page> {
    let (rounds, milliseconds) = if short { (9, 100) } else { (25, 250) };
    let frames = Amount { packets: 2_000_000, at_most: Duration::from_millis(milliseconds) };
    let listed = flood::load(stage, Senders::Listed, ENTRIES)?;
    let few = flood::load(stage, Senders::Listed, FLOOD)?;
    let unlisted = flood::load(stage, Senders::Unlisted, ENTRIES)?;
    let hosts = CONTENDERS.into_iter().map(|of| of.guard(stage, ENTRIES)).collect::<Result<Vec<_>>>()?;
    hosts.iter().try_for_each(|host| look(host, &listed, &unlisted))?;
    let ordinary = [Senders::Listed, Senders::Unlisted].map(|senders| Ordinary::of(senders, ENTRIES));
    let streams = streams_through(&hosts, rounds)?;
    rounds::stay_here()?;
    let mut samples = vec![[const { Vec::new() }; KINDS]; hosts.len()];
    for round in 0..rounds {
        eprint!("\rround {} of {rounds} ", round + 1);
        for (host, own) in hosts.iter().zip(&mut samples) {
            let (live, in_ordinary) = own.split_at_mut(3);
            for (flood, own) in [&listed, &few, &unlisted].into_iter().zip(live) {
                own.push(send(frames, |count| flood.send(host.net.peer(), count))?);
            }
            for (flood, own) in ordinary.iter().zip(in_ordinary) {
                own.push(send(frames, |count| flood.send(host.net.peer(), count))?);
            }
        }
    }
    eprintln!();
    let outcomes: Vec<_> = hosts
        .iter()
        .zip(&samples)
        .zip(streams)
        .map(|((host, own), stream)| outcome(host, own, &samples[0], stream))
        .collect();
    Ok(report::page(&outcomes, &report::Method { rounds, frames, entries: ENTRIES, flood: FLOOD }))
}

/// All frames in one call: around each the kernel waits for grace periods, and meanwhile the caches are others'.
fn send(frames: Amount, flood: impl Fn(u32) -> Result<f64>) -> Result<f64> {
    const FEW: u32 = 50_000;
    let cost = flood(FEW)?;
    flood(frames.at(cost))
}

/// The rates of streams through each. They need two processors.
fn streams_through(hosts: &[Guarded], rounds: usize) -> Result<Vec<Option<Figures>>> {
    let drops_all = |host: &Guarded| matches!(host.by, Contender::DropAll | Contender::DropAllTc);
    let mut rates = vec![Vec::new(); hosts.len()];
    for _ in 0..rounds {
        for (host, rates) in hosts.iter().zip(&mut rates).filter(|(host, _)| !drops_all(host)) {
            rates.push(streams::rate(host)?);
        }
    }
    Ok(rates.into_iter().map(|rates| (!rates.is_empty()).then(|| Figures::of(rates))).collect())
}

fn outcome(
    host: &Guarded,
    own: &[Vec<f64>; KINDS],
    unguarded: &[Vec<f64>; KINDS],
    stream: Option<Figures>,
) -> Outcome {
    let added = |kind: usize| {
        Figures::of(own[kind].iter().zip(&unguarded[kind]).map(|(own, nobody)| own - nobody).collect())
    };
    let [listed, few, unlisted, ordinary, _] = own.clone().map(Figures::of);
    Outcome {
        of: host.by,
        listed,
        flood: few,
        unlisted,
        added: added(2),
        ordinary_listed: ordinary,
        ordinary_added: added(4),
        stream,
    }
}

/// Does each do with frames what it should, and does the wire carry them all?
fn look(host: &Guarded, listed: &Flood, unlisted: &Flood) -> Result<()> {
    const FRAMES: u32 = 10_000;
    let passed = |flood: &Flood| {
        let before = host.arrived();
        flood.send(host.net.peer(), FRAMES).map(|_| host.arrived() - before)
    };
    let (of_listed, of_unlisted) = (passed(listed)?, passed(unlisted)?);
    // One in eight has a source that no host can have, and goes unseen.
    let most = u64::from(FRAMES) * 4 / 5..;
    let is_right = match host.by {
        Contender::Nobody => most.contains(&of_listed) && most.contains(&of_unlisted),
        Contender::DropAll | Contender::DropAllTc => of_listed == 0 && of_unlisted == 0,
        Contender::Filterd
        | Contender::FilterdWatched
        | Contender::FilterdTotal
        | Contender::FilterdTc
        | Contender::Hash
        | Contender::XdpFilter
        | Contender::NftIngress
        | Contender::NftPrerouting
        | Contender::Ipset => of_listed == 0 && most.contains(&of_unlisted),
    };
    ensure!(
        is_right,
        "{}: of {FRAMES} frames each, {of_listed} listed and {of_unlisted} unlisted passed",
        host.by
    );
    if host.by == Contender::FilterdWatched {
        let sampled = &host.net.filterd(["top", "--json"]).json()["top_sources"]["samples"];
        ensure!(sampled.as_u64() > Some(0), "nobody is told drops: {sampled}");
    }
    Ok(())
}
