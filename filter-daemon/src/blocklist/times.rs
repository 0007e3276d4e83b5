//! The times of the entries of one list, as runs of targets with equal times. A successor needs them,
//! because the source does not show when an entry was added.

use std::collections::HashMap;

use super::{Blocklist, ListId, Targets, Timestamp};

/// Entries with the same start and expiry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimedTargets {
    pub since: Timestamp,
    /// When they expire; never if none.
    pub until: Option<Timestamp>,
    pub targets: Targets,
}

/// The times of all targets that the source of a list names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EntryTimes {
    /// The entries on the list.
    pub runs: Vec<TimedTargets>,
    /// The expired targets, which are not on the list.
    pub spent: Targets,
}

/// How such times apply to the targets that the source names now.
#[derive(Debug, PartialEq, Eq)]
pub struct NamedTimes {
    /// The times of targets that are still named.
    pub known: EntryTimes,
    /// The named targets without recorded times.
    pub new: Targets,
    /// True if some recorded targets are no longer named.
    pub has_gone: bool,
}

impl EntryTimes {
    /// Applies these times to the `named` targets.
    pub fn of(&self, named: &Targets) -> NamedTimes {
        let mut looked = TargetMatcher::at(named);
        let spent = looked.find(&self.spent);
        let runs = self.runs.iter().map(|run| TimedTargets { targets: looked.find(&run.targets), ..*run });
        let runs: Vec<_> = runs.filter(|run| !run.targets.is_empty()).collect();
        let (known, new) = (Self { runs, spent }, looked.not_found());
        let has_gone = known.len() < self.len();
        NamedTimes { known, new, has_gone }
    }

    /// The number of targets with recorded times.
    pub fn len(&self) -> usize {
        self.runs.iter().map(|run| run.targets.len()).sum::<usize>() + self.spent.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All times moved by this many seconds.
    #[must_use]
    pub fn later_by(mut self, seconds: i64) -> Self {
        for run in &mut self.runs {
            run.since = run.since.later_by(seconds);
            run.until = run.until.map(|until| until.later_by(seconds));
        }
        self
    }
}

/// The times of a list while they are collected page by page.
#[derive(Debug, Default)]
pub struct TimesCollector {
    times: EntryTimes,
    /// The index of the run with these times.
    places: HashMap<(Timestamp, Option<Timestamp>), usize>,
    /// The run of the previous target, which mostly is also that of the next one.
    last: usize,
}

impl TimesCollector {
    /// Collects the times of one page of named targets; pages come in order. A target that is not on the
    /// list has expired.
    pub fn look_up(&mut self, page: &Targets, list: ListId, blocklist: &Blocklist) {
        let Self { times: EntryTimes { runs, spent }, places, last } = self;
        for target in page.iter() {
            let Some((since, until)) = blocklist.times_of(target, list) else {
                spent.push(target);
                continue;
            };
            if runs.get(*last).is_none_or(|run| (run.since, run.until) != (since, until)) {
                *last = *places.entry((since, until)).or_insert_with(|| {
                    runs.push(TimedTargets { since, until, targets: Targets::default() });
                    runs.len() - 1
                });
            }
            runs[*last].targets.push(target);
        }
    }

    pub fn into_times(self) -> EntryTimes {
        self.times
    }
}

/// Targets, with a mark on those that were found.
struct TargetMatcher<'a> {
    named: &'a Targets,
    found: [Vec<bool>; 3],
}

impl<'a> TargetMatcher<'a> {
    fn at(named: &'a Targets) -> Self {
        Self { named, found: named.counts().map(|count| vec![false; count]) }
    }

    /// The targets among `some` that are named and were not found before.
    fn find(&mut self, some: &Targets) -> Targets {
        let (named, [addresses, nets64, others]) = (self.named, &mut self.found);
        Targets {
            addresses: find(&named.addresses, &some.addresses, addresses),
            nets64: find(&named.nets64, &some.nets64, nets64),
            others: find(&named.others, &some.others, others),
        }
    }

    fn not_found(&self) -> Targets {
        let (named, [addresses, nets64, others]) = (self.named, &self.found);
        Targets {
            addresses: not_found(&named.addresses, addresses),
            nets64: not_found(&named.nets64, nets64),
            others: not_found(&named.others, others),
        }
    }
}

fn find<T: Ord + Copy>(named: &[T], some: &[T], found: &mut [bool]) -> Vec<T> {
    let (mut at, mut both) = (0, Vec::new());
    for one in some {
        at += count_before(one, &named[at..]);
        if named.get(at) == Some(one) && !std::mem::replace(&mut found[at], true) {
            both.push(*one);
        }
    }
    both
}

fn not_found<T: Copy>(named: &[T], found: &[bool]) -> Vec<T> {
    named.iter().zip(found).filter(|(_, found)| !**found).map(|(one, _)| *one).collect()
}

/// The number of sorted targets before `one`. Steps that double find it fast, because mostly few are.
fn count_before<T: Ord>(one: &T, named: &[T]) -> usize {
    let mut step = 1;
    while step < named.len() && named[step - 1] < *one {
        step *= 2;
    }
    let from = step / 2;
    from + named[from..step.min(named.len())].partition_point(|other| other < one)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::blocklist::{Change, Origin, Polarity, Want};

    fn at(seconds: u32) -> Timestamp {
        Timestamp::from_secs(seconds)
    }

    /// Targets of each kind.
    fn targets(numbers: impl IntoIterator<Item = u32>) -> Targets {
        let words = numbers.into_iter().map(|number| match number % 3 {
            0 => format!("192.0.2.{number}"),
            1 => format!("2001:db8:0:{number:x}::/64"),
            _ => format!("10.{number}.0.0/16"),
        });
        words.map(|word| word.parse().unwrap()).collect()
    }

    fn run(since: u32, numbers: impl IntoIterator<Item = u32>) -> TimedTargets {
        TimedTargets { since: at(since), until: Some(at(since + 100)), targets: targets(numbers) }
    }

    #[test]
    fn named_targets_keep_their_times() {
        let times =
            EntryTimes { runs: vec![run(1, 0..10), run(2, 10..20), run(3, 20..30)], spent: targets(30..40) };
        let known = EntryTimes { runs: vec![run(1, 5..10), run(3, 20..25)], spent: targets(35..40) };
        let named = times.of(&targets((5..10).chain(20..25).chain(35..50)));
        assert_eq!(named, NamedTimes { known, new: targets(40..50), has_gone: true });
        let named = times.of(&targets(0..40));
        assert_eq!(named, NamedTimes { known: times.clone(), new: Targets::default(), has_gone: false });
        let nothing = NamedTimes { known: EntryTimes::default(), new: targets(0..9), has_gone: false };
        assert_eq!(EntryTimes::default().of(&targets(0..9)), nothing);
    }

    #[test]
    fn collected_times_match_the_list() {
        let mut blocklist = Blocklist::default();
        for run in [run(1, 0..10), run(2, 10..20)] {
            let want = Want {
                until: run.until,
                origin: Origin::File,
                ..Want::live("seen", Polarity::Block, run.targets)
            };
            blocklist.apply(&Change::Want(want), run.since).unwrap();
        }
        let (list, mut gathering) = (blocklist.lists().find("seen").unwrap(), TimesCollector::default());
        for page in targets(5..25).pages(3) {
            gathering.look_up(&page, list, &blocklist);
        }
        let mut times = gathering.into_times();
        times.runs.sort_by_key(|run| run.since);
        assert_eq!(times, EntryTimes { runs: vec![run(1, 5..10), run(2, 10..20)], spent: targets(20..25) });
        assert_eq!(times.later_by(-1).runs, [run(0, 5..10), run(1, 10..20)]);
    }

    proptest! {
        #[test]
        fn doubling_search_finds_the_position(mut named in prop::collection::vec(0..40u32, 0..60), one in 0..40u32) {
            named.sort_unstable();
            prop_assert_eq!(count_before(&one, &named), named.iter().filter(|other| **other < one).count());
        }
    }
}
