//! Tests the list that a packet counts for, by the labels that the published judge reads, while tables change
//! in all ways.

use super::memory::KernelInMemory;
use crate::blocklist::{Effects, Settings};
use crate::kernel::{Filter, GrowingFamilies, Needs, SetNeeds};
use filter_common::labels::{Counters, Label, OTHER};
use filter_common::reason::Verdict;
use filter_common::target::{Prefix, Target};

use super::numbered::Numbered;
use super::random::Random;
use super::universe;

struct LabelWorld {
    kernel: KernelInMemory,
    filter: Filter,
    wanted: Numbered,
    sources: Vec<Target>,
}

impl LabelWorld {
    fn new() -> Self {
        let kernel = KernelInMemory::default();
        let mut filter = Filter::through(kernel.broker());
        let wanted = Numbered::default();
        let settings = Settings { counters: Counters::Lists, ..Settings::default() };
        let effects = Effects { settings: Some(settings), ..Effects::default() };
        filter.apply(&effects, &wanted).expect("the kernel is well");
        Self { kernel, filter, wanted, sources: universe::sources() }
    }

    fn step(&mut self, random: &mut Random) -> String {
        let Self { filter, wanted, .. } = self;
        let count = [1, 3, 20, 150][random.below(4)];
        let (step, done) = match random.below(16) {
            0..=6 => {
                let label = random.below(5) as Label;
                let some: Vec<_> = (0..count).map(|_| (universe::target(random), label)).collect();
                (format!("block {some:?}"), wanted.block(filter, &some))
            }
            7 | 8 => {
                let all: Vec<_> = wanted.targets().collect();
                let label = random.below(5) as Label;
                let some: Vec<_> =
                    all.iter().filter(|_| random.below(4) == 0).map(|(target, _)| (*target, label)).collect();
                (format!("relabel {some:?}"), wanted.block(filter, &some))
            }
            9 | 10 => {
                let all: Vec<_> = wanted.targets().collect();
                let some: Vec<_> =
                    all.iter().filter(|_| random.below(5) == 0).map(|(target, _)| *target).collect();
                (format!("release {some:?}"), wanted.release(filter, &some))
            }
            11 => {
                let (addresses, six) = (filter.addresses().capacity + 1, filter.six().capacity + 1);
                let needs = Needs::from(SetNeeds { addresses, six, ..SetNeeds::default() });
                ("grow".to_owned(), filter.grow_aside(&needs, wanted).map(|_: GrowingFamilies| ()))
            }
            12 => ("shrink".to_owned(), filter.shrink_to(&wanted.needs(), wanted)),
            13 => ("tidy".to_owned(), filter.tidy(&wanted.needs())),
            14 => ("make anew".to_owned(), filter.settle_anew(wanted)),
            _ => ("settle".to_owned(), filter.settle(wanted).map(drop)),
        };
        done.expect("the kernel is well");
        step
    }

    fn trouble(&self) -> Option<String> {
        let sources = || self.sources.iter().map(|host| universe::source(*host));
        let met = self.kernel.judge_all(sources());
        let labels = self.kernel.labels(sources());
        let all = self.sources.iter().zip(met.into_iter().zip(labels));
        all.into_iter().find_map(|(host, (met, label))| {
            let expected = self.wanted.label(universe::source(*host));
            if matches!(met, Verdict::Drop(_)) != expected.is_some() {
                return Some(format!("{host} is {met:?}, but {expected:?} is wanted"));
            }
            (label != expected).then(|| format!("{host} counts for {label:?}, but {expected:?} is wanted"))
        })
    }
}

#[test]
fn packets_count_for_the_matching_list() {
    for seed in 0..20 {
        let (mut life, mut random) = (LabelWorld::new(), Random(seed * 7919 + 5));
        let mut steps = Vec::new();
        for _ in 0..30 {
            steps.push(life.step(&mut random));
            if let Some(trouble) = life.trouble() {
                steps.iter_mut().for_each(|step| step.truncate(200));
                panic!("{trouble}: seed {seed}, after {:#?}", &steps[steps.len().saturating_sub(4)..]);
            }
        }
    }
}

/// Shows that the test above can fail: a wrong label is detected.
#[test]
fn wrong_label_is_detected() {
    let mut life = LabelWorld::new();
    let target = Target::V4(Prefix::host(universe::FIRST4));
    life.wanted.block(&mut life.filter, &[(target, 3)]).expect("the kernel is well");
    assert_eq!(life.trouble(), None);
    let mut other = Numbered::default();
    other
        .block(&mut Filter::through(KernelInMemory::default().broker()), &[(target, OTHER)])
        .expect("it is well");
    life.wanted = other;
    assert!(life.trouble().is_some_and(|trouble| trouble.contains("counts for Some(3)")));
}
