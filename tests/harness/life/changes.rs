//! `add`, `remove` and `flush`, and what their replies count.

use std::collections::BTreeSet;
use std::time::Duration;

use super::Life;
use super::asking::{Between, MOST_WORDS, Term, ask_add, ask_remove, of};
use super::batch::Batch;
use super::prefix::Prefix;
use super::wanted::{During, Lease, Wanted};
use crate::Reply;

/// Names of live lists that no configuration ever takes.
const OWN: [&str; 4] = ["manual", "manual", "ssh", "web"];
/// Names that the configuration may take.
const SHARED: [&str; 3] = ["drop", "spam", "tor"];

impl Life {
    pub(super) fn add(&mut self) -> Vec<Prefix> {
        let size = self.size();
        let batch = match self.world.earlier(&mut self.random) {
            earlier if self.random.below(6) == 0 && !earlier.is_empty() => {
                Batch::of(earlier, "targets of an earlier batch once more")
            }
            _ => self.world.batch(&mut self.random, size),
        };
        let list = self.live_name();
        let ttl = self.ttl(&list);
        let shortens = ttl.is_some() && self.random.below(3) == 0;
        // Only what is there can be shortened.
        let there = if shortens { self.some_of(&list, size) } else { Vec::new() };
        let batch = if there.is_empty() { batch } else { Batch::of(there, "targets that are on it") };
        self.add_batch(&list, &batch, Term { ttl, shortens });
        batch.targets
    }

    /// At most so many of those that may be on this list.
    fn some_of(&mut self, list: &str, count: usize) -> Vec<Prefix> {
        let there: BTreeSet<_> = self.reference.live_mut(list).iter().map(|(target, _)| target).collect();
        let skipped = self.random.below(there.len().max(1));
        there.into_iter().skip(skipped).take(count).collect()
    }

    /// Adds these, and counts what the reply should count.
    pub(super) fn add_batch(&mut self, list: &str, batch: &Batch, term: Term) {
        self.note(format!("add to {list}{}: {}", term.words(), batch.words));
        let begun = self.now();
        let reply = ask_add(self.net.home(), list, batch, term);
        let during = During(begun, self.now());
        let reply = self.exit_of_add(reply, batch, during);
        let (changed, entered) = self.believe_added(list, &batch.targets, term, during);
        let named = batch.targets.iter().filter(|target| !self.reference.guards(**target)).count();
        // Where everybody is guarded, nobody is counted.
        if reply.code() != Some(5) {
            self.counts(
                &reply,
                [("named", Between(named, named)), ("changed", changed), ("entered", entered)],
            );
        }
    }

    /// The reference adds them, too: whoever is not guarded. How many changed anything, and how many entered the filter?
    pub(super) fn believe_added(
        &mut self,
        list: &str,
        targets: &[Prefix],
        term: Term,
        during: During,
    ) -> (Between, Between) {
        let (mut changed, mut entered) = (Between::default(), Between::default());
        let lease = Lease::of(during, term.ttl);
        let guards = |target: &&Prefix| self.reference.guards(**target);
        let not_guarded: Vec<_> = targets.iter().filter(|target| !guards(target)).collect();
        for target in not_guarded {
            let effect = self.reference.live_mut(list).effect(*target);
            entered.count(self.reference.wants(effect, during).map(|wanted| !wanted));
            let wanted = self.reference.live_mut(list);
            let before = wanted.lease(*target).filter(|_| term.shortens);
            let before = before.inspect(|_| _ = wanted.remove(*target));
            let before = wanted.add(*target, lease).or(before);
            let changes = |before: Lease| match term.shortens {
                true => before.is_replaced_by(lease, during),
                false => before.is_changed_by(lease, during),
            };
            changed.count(before.map_or(Some(true), changes));
        }
        (changed, entered)
    }

    pub(super) fn remove(&mut self) -> Vec<Prefix> {
        let size = self.size().min(20_000);
        let mut targets = self.world.known(&mut self.random, size.min(3000));
        if self.random.below(4) == 0 {
            targets.extend(self.world.earlier(&mut self.random));
        }
        if self.random.below(4) == 0 {
            targets.extend(self.world.batch(&mut self.random, 5).targets);
        }
        targets.sort();
        targets.dedup();
        let list = (self.random.below(3) == 0).then(|| self.live_name());
        if targets.is_empty() {
            return targets;
        }
        self.note(format!(
            "remove{}: {} targets, the first of them {}",
            of(list.as_deref()),
            targets.len(),
            targets[0]
        ));
        self.remove_targets(&targets, list.as_deref());
        targets
    }

    fn remove_targets(&mut self, targets: &[Prefix], list: Option<&str>) {
        let begun = self.now();
        let reply = ask_remove(self.net.home(), targets, list);
        let during = During(begun, self.now());
        let is_there = list.is_none_or(|list| self.reference.live_mut(list).count(during).0 > 0);
        let (changed, left) = self.believe_removed(targets, list, during);
        if !is_there && reply.code() == Some(2) {
            return;
        }
        let reply = self.exit_of_remove(reply, targets, list, during);
        let named = targets.len();
        self.counts(&reply, [("named", Between(named, named)), ("changed", changed), ("left", left)]);
    }

    /// 1 where one of a few is still blocked as a whole; of many, or of one that is blocked in parts, either will do.
    fn exit_of_remove(&self, reply: Reply, targets: &[Prefix], list: Option<&str>, during: During) -> Reply {
        let still: Vec<_> = targets.iter().map(|target| self.reference.covers(*target, during)).collect();
        if still.iter().all(|still| *still == Some(false)) && targets.iter().all(|target| target.is_host()) {
            return reply.succeeds();
        }
        let is_plain = targets.len() <= MOST_WORDS && list.is_none() && !self.left_out.has("held");
        if is_plain && still.contains(&Some(true)) {
            return reply.exits(1);
        }
        assert!(matches!(reply.code(), Some(0 | 1)), "should exit with 0 or 1, but {reply}");
        reply
    }

    /// The reference removes them, too. How many were in a live list, and how many left the filter?
    pub(super) fn believe_removed(
        &mut self,
        targets: &[Prefix],
        list: Option<&str>,
        during: During,
    ) -> (Between, Between) {
        let (mut changed, mut left) = (Between::default(), Between::default());
        for target in targets {
            let those =
                self.reference.live.iter_mut().filter(|(name, _)| list.is_none_or(|list| list == *name));
            let mut those: Vec<_> =
                those.map(|(name, wanted)| (name.clone(), wanted.effect(*target))).collect();
            those.retain(|(name, _)| self.reference.live[name].lease(*target).is_some());
            let mut effects: Vec<_> = those.iter().map(|(_, effect)| *effect).collect();
            effects.sort();
            effects.dedup();
            let wanted = |life: &Self| -> Vec<_> {
                effects.iter().map(|effect| life.reference.wants(*effect, during)).collect()
            };
            let before = wanted(self);
            let leases = those.iter().filter_map(|(name, _)| self.reference.live_mut(name).remove(*target));
            let were: Vec<_> = leases.map(|lease| lease.holds(during)).collect();
            let was_there = if were.contains(&Some(true)) {
                Some(true)
            } else if were.contains(&None) {
                None
            } else {
                Some(false)
            };
            changed.count(was_there);
            for (was, is) in before.into_iter().zip(wanted(self)) {
                left.count(match (was, is) {
                    (Some(true), Some(false)) => Some(true),
                    (Some(false), _) | (_, Some(true)) => Some(false),
                    (None, _) | (_, None) => None,
                });
            }
        }
        (changed, left)
    }

    pub(super) fn flush(&mut self) -> Vec<Prefix> {
        let list = (self.random.below(3) > 0).then(|| self.live_name());
        self.note(format!("flush{}", of(list.as_deref())));
        let begun = self.now();
        let mut words = vec!["flush", "--json"];
        list.iter().for_each(|list| words.extend(["--list", list]));
        let reply = self.net.filterd(&words);
        let during = During(begun, self.now());
        let those =
            self.reference.live.iter_mut().filter(|(name, _)| list.as_ref().is_none_or(|list| list == *name));
        let (mut touched, mut held) = (Vec::new(), Between::default());
        for (_, wanted) in those {
            let (least, most) = wanted.count(during);
            held = Between(held.0 + least, held.1 + most);
            touched.extend(wanted.iter().map(|(target, _)| target));
            let reach = wanted.reach();
            *wanted = Wanted::default().reaching(reach);
        }
        if held.0 == 0 && list.is_some() && reply.code() == Some(2) {
            return touched;
        }
        self.counts(&reply.succeeds(), [("changed", held)]);
        // The same order in every life of this seed, whatever the order of a hash table.
        touched.sort();
        touched
    }

    pub(super) fn add_to_a_list_of_the_configuration(&mut self) -> Vec<Prefix> {
        let names: Vec<_> = self.applied.lists.iter().map(|list| list.name.clone()).collect();
        if names.is_empty() {
            return self.add();
        }
        let name = &names[self.random.below(names.len())];
        let batch = self.world.batch(&mut self.random, 5);
        self.note(format!("add to {name}, a list of the configuration: {}", batch.words));
        ask_add(self.net.home(), name, &batch, Term::PERMANENT).exits(5);
        batch.targets
    }

    /// The name of a live list, as far as the configuration leaves it.
    pub(super) fn live_name(&mut self) -> String {
        let shared = SHARED[self.random.below(SHARED.len())];
        let may = !self.left_out.has("taken") && !self.applied.has(shared) && !self.plan.has(shared);
        if self.random.below(8) == 0 && may {
            return shared.to_owned();
        }
        OWN[self.random.below(OWN.len())].to_owned()
    }

    /// A short one, a long one or none; none where the end would decide whether a reload is refused.
    pub(super) fn ttl(&mut self, list: &str) -> Option<Duration> {
        let seconds = match self.random.below(10) {
            0..3 => 2 + self.random.below(7),
            3 => 3600,
            _ => return None,
        };
        (!SHARED.contains(&list)).then(|| Duration::from_secs(seconds as u64))
    }

    /// The reply counts what the reference counts.
    #[track_caller]
    pub(super) fn counts<const N: usize>(&self, reply: &Reply, counts: [(&str, Between); N]) {
        if self.left_out.has("counts") {
            return;
        }
        let told = reply.json();
        for (name, Between(least, most)) in counts {
            let count = told[name].as_u64().unwrap_or_else(|| panic!("no {name}: {reply}")) as usize;
            assert!((least..=most).contains(&count), "{name} should be {least} to {most}, but {reply}");
        }
    }
}
