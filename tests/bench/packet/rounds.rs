//! Everything in turn, again and again, so that whatever disturbs the machine disturbs all alike.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use filterd_measure::figures::Figures;
use filterd_measure::processor;
use nix::unistd::Pid;

use crate::peer::Peer;
use crate::plan::{Measurement, Pace, Plan, Senders};
use crate::sender::{self, FEW, Sender};
use crate::subject::{Stage, Subject};

/// What came out for one measurement, in nanoseconds a packet.
#[derive(Debug)]
pub struct Measured {
    pub whole: Figures,
    /// What the program that only parses took in the same round is subtracted.
    pub above_parsing: Figures,
    /// The same, round after round.
    pub each_above_parsing: Vec<f64>,
}

pub const DROP: u32 = 1;
pub const PASS: u32 = 2;

/// How many packets are looked at one by one before any time is taken.
const LOOKED_AT: usize = 64;

/// Carries the plan out.
pub fn run(plan: &Plan, stage: &Stage<'_>, subjects: &mut [Subject]) -> Result<Vec<Measured>> {
    stay_here()?;
    let mut senders = sender::all(stage)?;
    subjects.iter().try_for_each(|subject| look(subject, &mut senders))?;
    let mut samples = vec![Vec::with_capacity(plan.rounds); plan.measurements.len()];
    for round in 0..plan.rounds {
        eprint!("\rround {} of {} ", round + 1, plan.rounds);
        renew(subjects, stage)?;
        senders = sender::all(stage)?;
        for (what, samples) in plan.measurements.iter().zip(&mut samples) {
            let subject = &subjects[what.subject];
            let sender = sender::find(&mut senders, subject.spec.peer, what.pace);
            sender.aim(subject, what.senders)?;
            let cost = sender.run(FEW, FEW)?;
            samples.push(sender.run(plan.warm.at(cost), plan.packets.at(cost))?);
        }
    }
    eprintln!();
    let samples_of = |what: &Measurement| &samples[plan.baseline(what)];
    Ok(plan.measurements.iter().zip(&samples).map(|(of, own)| measured(own, samples_of(of))).collect())
}

/// Makes anew what is made in no time: which pages of memory a table gets is a matter of chance, and so is where the
/// kernel puts a program. Either can make several nanoseconds' difference.
fn renew(subjects: &mut [Subject], stage: &Stage<'_>) -> Result<()> {
    for subject in subjects.iter_mut().filter(|subject| subject.spec.is_quick()) {
        *subject = stage.subject(&subject.spec)?;
    }
    Ok(())
}

fn measured(own: &[f64], baseline: &[f64]) -> Measured {
    let above: Vec<f64> = own.iter().zip(baseline).map(|(own, baseline)| own - baseline).collect();
    Measured {
        whole: Figures::of(own.to_vec()),
        above_parsing: Figures::of(above.clone()),
        each_above_parsing: above,
    }
}

/// Does it do with packets what it should? What only looks busy would be fast.
fn look(subject: &Subject, senders: &mut [Sender]) -> Result<()> {
    let sender = sender::find(senders, subject.spec.peer, Pace::Overlapping);
    let who = if subject.spec.entries == 0 { &[Senders::Unlisted] } else { &Senders::ALL[..] };
    for &who in who {
        sender.aim(subject, who)?;
        let mut dropped = 0;
        for _ in 0..LOOKED_AT {
            let action = sender.action()?;
            ensure!(
                [DROP, PASS].contains(&action),
                "{} does neither drop nor pass: {action}",
                subject.spec.peer
            );
            dropped += usize::from(action == DROP);
        }
        let is_right = is_right(subject.spec.peer, who, dropped);
        ensure!(is_right, "{} dropped {dropped} of {LOOKED_AT} packets ({who})", subject.spec.peer);
    }
    Ok(())
}

fn is_right(peer: Peer, senders: Senders, dropped: usize) -> bool {
    if !peer.drops() {
        return dropped == 0;
    }
    match senders {
        // One in 1,678 is in a prefix.
        Senders::Unlisted => dropped <= LOOKED_AT / 16,
        Senders::Listed => dropped == LOOKED_AT,
        Senders::Half => (LOOKED_AT / 8..LOOKED_AT - LOOKED_AT / 8).contains(&dropped),
    }
}

/// Keeps this thread on the processor that it is on, and so with its caches, and others from it while packets run.
pub fn stay_here() -> Result<()> {
    processor::stay()?;
    let this = Pid::this().to_string();
    let chrt =
        Command::new("chrt").args(["--fifo", "--pid", "1", &this]).status().context("cannot start chrt")?;
    ensure!(chrt.success(), "chrt does not give this process a processor of its own");
    Ok(())
}
