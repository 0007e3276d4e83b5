//! Everything in turn, again and again, so that whatever disturbs the machine disturbs all alike.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use filterd_measure::figures::Figures;
use filterd_measure::processor;
use nix::unistd::Pid;

use crate::plan::{Measurement, Plan, Senders};
use crate::sender::Sender;
use crate::subject::{Stage, Subject};

/// What came out for one measurement, in nanoseconds a packet.
#[derive(Debug)]
pub struct Measured {
    pub whole: Figures,
    /// What the program that only parses took in the same round is subtracted.
    pub above_parsing: Figures,
}

const DROP: u32 = 1;
const PASS: u32 = 2;

/// How many packets are looked at one by one before any time is taken.
const LOOKED_AT: usize = 64;

/// Carries the plan out.
pub fn run(plan: &Plan, stage: &Stage<'_>, subjects: &mut [Subject]) -> Result<Vec<Measured>> {
    stay_here()?;
    for measurement in &plan.measurements {
        look(measurement, stage, &subjects[measurement.subject])?;
    }
    let mut samples = vec![Vec::with_capacity(plan.rounds); plan.measurements.len()];
    for round in 0..plan.rounds {
        eprint!("\rround {} of {} ", round + 1, plan.rounds);
        subjects.iter_mut().try_for_each(Subject::reload)?;
        for (number, measurement) in plan.measurements.iter().enumerate() {
            samples[number].push(measure(measurement, plan.packets, stage, &subjects[measurement.subject])?);
        }
    }
    eprintln!();
    Ok(plan
        .measurements
        .iter()
        .zip(&samples)
        .map(|(of, own)| measured(own, &samples[plan.baseline(of)]))
        .collect())
}

fn measured(own: &[f64], baseline: &[f64]) -> Measured {
    let above = own.iter().zip(baseline).map(|(own, baseline)| own - baseline).collect();
    Measured { whole: Figures::of(own.to_vec()), above_parsing: Figures::of(above) }
}

/// Nanoseconds a packet. The first packets only bring the tables into the caches.
fn measure(what: &Measurement, packets: u32, stage: &Stage<'_>, subject: &Subject) -> Result<f64> {
    let sender = Sender::before(subject, what.senders, what.pace, stage)?;
    sender.run(packets / 2)?;
    let busy = sender.run(packets)?;
    Ok(busy.as_nanos() as f64 / f64::from(packets))
}

/// Does it do with packets what it should? What only looks busy would be fast.
fn look(what: &Measurement, stage: &Stage<'_>, subject: &Subject) -> Result<()> {
    let sender = Sender::before(subject, what.senders, what.pace, stage)?;
    let mut dropped = 0;
    for _ in 0..LOOKED_AT {
        let action = sender.action()?;
        ensure!([DROP, PASS].contains(&action), "{} does neither drop nor pass: {action}", subject.spec.peer);
        dropped += usize::from(action == DROP);
    }
    let is_right = match what.senders {
        // One in 1,678 is in a prefix.
        Senders::Unlisted => dropped <= LOOKED_AT / 16,
        Senders::Listed => dropped == LOOKED_AT,
        Senders::Half => (LOOKED_AT / 8..LOOKED_AT - LOOKED_AT / 8).contains(&dropped),
    };
    ensure!(is_right, "{} dropped {dropped} of {LOOKED_AT} packets ({})", subject.spec.peer, what.senders);
    Ok(())
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
