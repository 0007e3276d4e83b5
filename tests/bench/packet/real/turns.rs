//! All contenders with one list in turn, again and again, after a look at whether they are right about it.

use anyhow::{Result, ensure};
use filterd::blocklist::Blocklist;
use filterd_measure::figures::Figures;

use super::contender::{self, Contender};
use super::lists::{List, Senders};
use super::told::Told;
use super::{Extent, Line, Manner, Who};
use crate::rounds;
use crate::subject::Stage;

/// How many sources of each kind are looked at one by one before any time is taken.
const LOOKED_AT: usize = 64;

/// One thing that is measured: whose packets, and how they come; and nanoseconds in each round, by contender.
struct Samples {
    senders: usize,
    manner: Manner,
    nanoseconds: [Vec<f64>; Who::ALL.len()],
}

/// Measures everything about this list.
pub fn run(list: &List, extent: &Extent, stage: &Stage<'_>) -> Result<Vec<Line>> {
    rounds::stay_here()?;
    let truth = contender::truth(list)?;
    let senders = list.senders();
    let mut contenders = contenders(list, &truth, stage)?;
    let mut told = Told::new(list.name.is_six(), stage)?;
    for senders in &senders {
        told.tell(&senders.words)?;
        contenders.iter().try_for_each(|contender| look(contender, senders, &mut told))?;
    }
    let mut samples = samples(senders.len());
    for round in 0..extent.rounds {
        eprint!("\rround {} of {} ", round + 1, extent.rounds);
        // Where in memory tables lie is a matter of chance.
        if list.name.is_quick() {
            contenders = self::contenders(list, &truth, stage)?;
        }
        told = Told::new(list.name.is_six(), stage)?;
        for Samples { senders: number, manner, nanoseconds } in &mut samples {
            told.tell(&senders[*number].words)?;
            for (contender, nanoseconds) in contenders.iter().zip(nanoseconds) {
                nanoseconds.push(told.run(contender.entry()?, *manner, round, extent)?);
            }
        }
    }
    eprintln!();
    Ok(samples.iter().flat_map(|samples| lines(list, &senders, samples)).collect())
}

fn contenders(list: &List, truth: &Blocklist, stage: &Stage<'_>) -> Result<Vec<Contender>> {
    Who::of(list.name.is_six()).map(|who| Contender::new(who, list, truth, stage)).collect()
}

fn samples(senders: usize) -> Vec<Samples> {
    let of = |senders| {
        let empty =
            move |manner| Samples { senders, manner, nanoseconds: [const { Vec::new() }; Who::ALL.len()] };
        Manner::ALL.map(empty)
    };
    (0..senders).flat_map(of).collect()
}

/// Does it drop who is listed, and nobody else?
fn look(contender: &Contender, senders: &Senders, told: &mut Told) -> Result<()> {
    for (number, &listed) in senders.listed.iter().enumerate().take(LOOKED_AT) {
        let action = told.action(contender.entry()?, number)?;
        let right = if listed && contender.who != Who::Parse { rounds::DROP } else { rounds::PASS };
        ensure!(
            action == right,
            "{} answers {action}, not {right}, to {:x?} ({})",
            contender.who,
            senders.words[number].map(u64::from_be),
            senders.from
        );
    }
    Ok(())
}

/// What the program that only parses took in the same round is subtracted.
fn lines(list: &List, senders: &[Senders], samples: &Samples) -> Vec<Line> {
    let [parse, others @ ..] = &samples.nanoseconds;
    let measured = others.iter().filter(|own| !own.is_empty());
    let line = |(who, own): (Who, &Vec<f64>)| Line {
        list: list.name,
        from: senders[samples.senders].from,
        manner: samples.manner,
        who,
        above: Figures::of(own.iter().zip(parse).map(|(own, parse)| own - parse).collect()),
    };
    Who::ALL.into_iter().skip(1).zip(measured).map(line).collect()
}
