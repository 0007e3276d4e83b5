//! Maps IPv6 /64s to their claims, in order. Long IPv6 lists consist mostly of /64s, so the map is compact,
//! and fast for sorted input.
//!
//! It is a sequence of sorted runs. The next /64 mostly belongs at the end of the run that took the one
//! before.

use std::iter;
use std::ops::{Bound, RangeBounds};

use super::claims::ClaimsId;

/// The most /64s in a run, so that an insertion moves a few kilobytes at most.
const LONGEST: usize = 512;

/// Shorter rows are inserted one by one. Each row makes runs of its own, and short runs waste room.
const SHORTEST_ROW: usize = LONGEST / 4;

/// Maps /64s, by their network halves, to claims.
#[derive(Debug, Default)]
pub struct Nets64 {
    /// The lower bound of each run: its /64s are not smaller, and those of earlier runs are.
    begins: Vec<u64>,
    #[expect(
        clippy::vec_box,
        reason = "where a run comes in between, eight bytes of each behind it move, not fifty"
    )]
    runs: Vec<Box<NetRun>>,
    /// The number of /64s in all runs.
    len: usize,
    /// The run that took the latest /64.
    latest: usize,
}

/// A sorted run of /64s, which is never empty.
#[derive(Debug, Default)]
struct NetRun {
    nets: Vec<u64>,
    claims: Vec<ClaimsId>,
}

impl Nets64 {
    pub const fn len(&self) -> usize {
        self.len
    }

    pub fn get(&self, net: u64) -> Option<ClaimsId> {
        let run = self.runs.get(self.run_of(net))?;
        run.find(net).ok().map(|at| run.claims[at])
    }

    /// Sets the claims of `net`, and replaces those that it had. Returns whether it is new.
    pub fn insert(&mut self, net: u64, claims: ClaimsId) -> bool {
        let is_new = self.put_in(net, claims);
        self.len += usize::from(is_new);
        is_new
    }

    /// True if these are many and sorted, and the map contains neither one of them nor any /64 between
    /// them.
    pub fn are_row(&self, nets: &[u64]) -> bool {
        let [first, .., last] = nets else { return false };
        nets.len() >= SHORTEST_ROW
            && nets.is_sorted_by(|net, next| net < next)
            && self.range(first..=last).next().is_none()
    }

    /// Gives all /64s of a row the same claims. The row must satisfy [`Self::are_row`].
    pub fn insert_row(&mut self, row: &[u64], claims: ClaimsId) {
        let [first, .., last] = row else { return };
        let (number, before) = self.place(*first, |other| other < *first);
        let at = self.part(number, before);
        // The lower bound of this run may be below its first /64, and so within the row.
        if let Some(behind) = self.runs.get(at) {
            self.begins[at] = behind.nets[0];
        }
        let nets = row.chunks(LONGEST);
        let runs =
            nets.clone().map(|nets| Box::new(NetRun { nets: nets.into(), claims: vec![claims; nets.len()] }));
        self.runs.splice(at..at, runs);
        self.begins.splice(at..at, nets.map(|nets| nets[0]));
        self.len += row.len();
        self.latest = self.run_of(*last);
    }

    /// Splits this run behind its first `before` /64s, if necessary, and returns the number of the second
    /// part.
    fn part(&mut self, number: usize, before: usize) -> usize {
        let Some(run) = self.runs.get_mut(number).filter(|_| before > 0) else { return number };
        if before < run.nets.len() {
            let rest = run.split_off(before);
            self.put(number + 1, rest);
        }
        number + 1
    }

    fn put_in(&mut self, net: u64, claims: ClaimsId) -> bool {
        let number = self.run_of(net);
        self.latest = number;
        let Some(run) = self.runs.get_mut(number) else {
            self.put(number, NetRun { nets: vec![net], claims: vec![claims] });
            return true;
        };
        match run.find(net) {
            Ok(at) => {
                run.claims[at] = claims;
                false
            }
            Err(at) if run.nets.len() < LONGEST => {
                run.insert(at, net, claims);
                self.begins[number] = net.min(self.begins[number]);
                true
            }
            // Sorted input leaves full runs behind it.
            Err(LONGEST) => {
                self.put(number + 1, NetRun { nets: vec![net], claims: vec![claims] });
                self.latest = number + 1;
                true
            }
            Err(_) => {
                let rest = run.split_off(LONGEST / 2);
                self.put(number + 1, rest);
                self.put_in(net, claims)
            }
        }
    }

    /// Removes `net`, and returns whether it was present.
    pub fn remove(&mut self, net: u64) -> bool {
        let number = self.run_of(net);
        let Some(run) = self.runs.get_mut(number) else { return false };
        let Ok(at) = run.find(net) else { return false };
        self.len -= 1;
        run.nets.remove(at);
        run.claims.remove(at);
        if run.nets.len() < LONGEST / 4 {
            self.join(number);
        }
        true
    }

    /// Joins a short run to the next or previous one, if both together fill at most half a run. Drops it if
    /// it is empty.
    fn join(&mut self, number: usize) {
        let length = |number: usize| self.runs.get(number).map_or(LONGEST, |run| run.nets.len());
        let has_room = |first: usize| length(first) + length(first + 1) <= LONGEST / 2;
        if length(number) == 0 {
            self.take(number);
        } else if let Some(first) =
            iter::once(number).chain(number.checked_sub(1)).find(|first| has_room(*first))
        {
            let behind = self.take(first + 1);
            self.runs[first].append(*behind);
        }
    }

    /// The /64s within these bounds, in order.
    pub fn range(&self, within: impl RangeBounds<u64>) -> impl Iterator<Item = (u64, ClaimsId)> + '_ {
        let (first, skipped) = match within.start_bound() {
            Bound::Unbounded => (0, 0),
            Bound::Included(net) => self.place(*net, |other| other < *net),
            Bound::Excluded(net) => self.place(*net, |other| other <= *net),
        };
        let last = match within.end_bound() {
            Bound::Unbounded => Some(u64::MAX),
            Bound::Included(net) => Some(*net),
            Bound::Excluded(net) => net.checked_sub(1),
        };
        let all = self.runs.get(first..).unwrap_or_default().iter().flat_map(|run| run.entries());
        last.into_iter()
            .flat_map(move |last| all.clone().skip(skipped).take_while(move |(net, _)| *net <= last))
    }

    /// All /64s in order.
    pub fn keys(&self) -> impl Iterator<Item = u64> + '_ {
        self.runs.iter().flat_map(|run| run.nets.iter().copied())
    }

    /// The run that contains `net`, if any run does.
    fn run_of(&self, net: u64) -> usize {
        let begins_by = |number: usize| self.begins.get(number).is_some_and(|begin| *begin <= net);
        if begins_by(self.latest) && !begins_by(self.latest + 1) {
            return self.latest;
        }
        self.begins.partition_point(|begin| *begin <= net).saturating_sub(1)
    }

    /// The run that would contain `net`, and how many of its /64s satisfy `before`.
    fn place(&self, net: u64, before: impl Fn(u64) -> bool) -> (usize, usize) {
        let number = self.run_of(net);
        let skipped = self.runs.get(number).map_or(0, |run| run.nets.partition_point(|other| before(*other)));
        (number, skipped)
    }

    fn put(&mut self, number: usize, run: NetRun) {
        self.begins.insert(number, run.nets[0]);
        self.runs.insert(number, Box::new(run));
    }

    fn take(&mut self, number: usize) -> Box<NetRun> {
        self.begins.remove(number);
        self.runs.remove(number)
    }
}

impl NetRun {
    /// The index of `net`, or where to insert it.
    fn find(&self, net: u64) -> Result<usize, usize> {
        if self.nets.last().is_some_and(|last| *last < net) {
            return Err(self.nets.len());
        }
        self.nets.binary_search(&net)
    }

    fn insert(&mut self, at: usize, net: u64, claims: ClaimsId) {
        self.nets.insert(at, net);
        self.claims.insert(at, claims);
    }

    fn split_off(&mut self, at: usize) -> Self {
        Self { nets: self.nets.split_off(at), claims: self.claims.split_off(at) }
    }

    fn append(&mut self, mut behind: Self) {
        self.nets.append(&mut behind.nets);
        self.claims.append(&mut behind.claims);
    }

    fn entries(&self) -> impl Iterator<Item = (u64, ClaimsId)> + Clone + '_ {
        self.nets.iter().copied().zip(self.claims.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::super::claims::ClaimRegistry;
    use super::*;

    #[derive(Clone, Copy, Debug)]
    enum Act {
        Enter,
        EnterAsRow,
        Leave,
    }

    /// The action, the first /64, the count, and the step from one to the next.
    type Step = (Act, u64, u64, u64);

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let begin = prop_oneof![Just(0), 0..6000_u64, Just(u64::MAX - 3000)];
        let act = prop_oneof![Just(Act::Enter), Just(Act::EnterAsRow), Just(Act::Leave)];
        prop::collection::vec((act, begin, 1..1500_u64, prop_oneof![Just(1), Just(3), Just(977)]), 0..12)
    }

    proptest! {
        #[test]
        fn map_behaves_like_a_tree(steps in steps(), from: u64, near in 0..8000_u64) {
            let [one, other] = ClaimRegistry::two_sets();
            let (mut nets, mut tree) = (Nets64::default(), BTreeMap::new());
            for (number, (act, begin, count, step)) in steps.into_iter().enumerate() {
                let claims = if number % 3 == 0 { one } else { other };
                let row: Vec<u64> = (0..count).map(|at| begin.wrapping_add(at * step)).collect();
                let (first, last) = (row[0], row[row.len() - 1]);
                let is_row = row.len() >= SHORTEST_ROW && first < last && tree.range(first..=last).next().is_none();
                prop_assert_eq!(nets.are_row(&row), is_row);
                if let Act::EnterAsRow = act {
                    if is_row {
                        nets.insert_row(&row, claims);
                        tree.extend(row.iter().map(|net| (*net, claims)));
                    }
                } else {
                    for net in row {
                        prop_assert_eq!(nets.get(net), tree.get(&net).copied());
                        if let Act::Enter = act {
                            prop_assert_eq!(nets.insert(net, claims), tree.insert(net, claims).is_none());
                        } else {
                            prop_assert_eq!(nets.remove(net), tree.remove(&net).is_some());
                        }
                    }
                }
                prop_assert!(nets.begins.is_sorted());
                prop_assert!(nets.keys().eq(tree.keys().copied()));
                prop_assert_eq!(nets.len(), tree.len());
            }
            prop_assert!(nets.runs.iter().all(|run| (1..=LONGEST).contains(&run.nets.len())));
            for from in [from, near] {
                let end = from.saturating_add(2000);
                for bounds in [
                    (Bound::Included(from), Bound::Unbounded),
                    (Bound::Excluded(from), Bound::Included(end)),
                    (Bound::Unbounded, Bound::Excluded(end)),
                ] {
                    let expected = tree.range(bounds).map(|(net, claims)| (*net, *claims));
                    prop_assert!(nets.range(bounds).eq(expected), "{bounds:?}");
                }
            }
        }
    }

    /// Ten million /64s take 120 MB. Runs are joined when most /64s have left.
    #[test]
    fn sorted_input_fills_runs_and_removal_joins() {
        let [claims, _] = ClaimRegistry::two_sets();
        let mut nets = Nets64::default();
        (0..100_000).for_each(|net| assert!(nets.insert(net, claims)));
        assert_eq!(nets.runs.len(), 100_000_usize.div_ceil(LONGEST));
        (0..100_000).filter(|net| net % 16 != 0).for_each(|net| assert!(nets.remove(net)));
        assert!(nets.runs.len() <= 100_000 / 16 / (LONGEST / 4) + 1, "{} runs", nets.runs.len());
        assert!(nets.range(..).map(|(net, _)| net).eq((0..100_000).step_by(16)));
    }
}
