//! What passes whatever is blocked: allowed live for a while or for good, and allowed no longer.

use std::time::Duration;

use super::Life;
use super::asking::{Between, ask_allow, ask_disallow, of, ttl_words};
use super::batch::Batch;
use super::prefix::Prefix;
use super::wanted::{During, Lease};
use crate::Reply;

/// Names of live lists that allow.
const OWN: [&str; 2] = ["manual-allow", "office"];

/// More are seldom allowed at once.
const MOST: usize = 300;

impl Life {
    pub(super) fn allow_or_not(&mut self) -> Vec<Prefix> {
        match self.random.below(8) {
            0..5 => self.allow(),
            5 | 6 => self.disallow(),
            _ => self.flush_allowed(),
        }
    }

    /// Mostly something that is blocked, or is around it, or within it.
    fn allow(&mut self) -> Vec<Prefix> {
        let size = self.size().min(MOST);
        let batch = match self.random.below(4) {
            0 => self.world.batch(&mut self.random, size),
            _ => Batch::of(self.world.relatives(&mut self.random, size), "relatives of what was seen"),
        };
        if batch.targets.is_empty() {
            return self.add();
        }
        let list = OWN[self.random.below(OWN.len())];
        let ttl = (self.random.below(3) > 0).then(|| Duration::from_secs(2 + self.random.below(7) as u64));
        self.note(format!("allow in {list}{}: {}", ttl_words(ttl), batch.words));
        let begun = self.now();
        let reply = ask_allow(self.net.home(), list, &batch, ttl).succeeds();
        let during = During(begun, self.now());
        let (mut changed, mut entered) = (Between::default(), Between::default());
        let lease = Lease::of(during, ttl);
        for target in &batch.targets {
            entered.count(self.reference.allows(*target, during).map(|allowed| !allowed));
            let before = self.reference.allowed_mut(list).add(*target, lease);
            changed.count(before.map_or(Some(true), |before| before.is_changed_by(lease, during)));
        }
        let named = batch.targets.len();
        self.counts(&reply, [("named", Between(named, named)), ("changed", changed), ("entered", entered)]);
        batch.targets
    }

    fn disallow(&mut self) -> Vec<Prefix> {
        let mut allowed: Vec<_> = OWN
            .iter()
            .flat_map(|list| self.reference.allowed.get(*list))
            .flat_map(|wanted| wanted.iter().map(|(target, _)| target))
            .collect();
        // The same order in every life of this seed, whatever the order of a hash table.
        allowed.sort();
        allowed.dedup();
        if allowed.is_empty() {
            return self.allow();
        }
        let count = 1 + self.random.below(allowed.len().min(MOST));
        let mut targets: Vec<_> = (0..count).map(|_| allowed[self.random.below(allowed.len())]).collect();
        targets.sort();
        targets.dedup();
        let list = (self.random.below(3) == 0).then(|| OWN[self.random.below(OWN.len())]);
        self.note(format!(
            "allow no longer{}: {} targets, the first of them {}",
            of(list),
            targets.len(),
            targets[0]
        ));
        let reply = ask_disallow(self.net.home(), &targets, list);
        assert!(matches!(reply.code(), Some(0 | 1)), "should exit with 0 or 1, but {reply}");
        for target in &targets {
            let those = self.reference.allowed.iter_mut();
            let those = those.filter(|(name, _)| match list {
                Some(list) => list == *name,
                None => OWN.contains(&name.as_str()),
            });
            those.for_each(|(_, wanted)| _ = wanted.remove(*target));
        }
        targets
    }

    fn flush_allowed(&mut self) -> Vec<Prefix> {
        let list = OWN[self.random.below(OWN.len())];
        self.note(format!("flush of {list}, which allows"));
        self.net.filterd(["flush", "--json", "--list", list]).succeeds();
        let before = std::mem::take(self.reference.allowed_mut(list));
        let mut touched: Vec<_> = before.iter().map(|(target, _)| target).collect();
        touched.sort();
        touched
    }

    /// 5 where all that was named is guarded, 7 where some of it is; 1 where one of a few is allowed as a whole.
    pub(super) fn exit_of_add(&self, reply: Reply, batch: &Batch, during: During) -> Reply {
        let guarded = batch.targets.iter().filter(|target| self.reference.guards(**target)).count();
        if guarded == batch.targets.len() {
            return reply.exits(5);
        }
        let are_named = batch.lines.len() <= super::asking::MOST_WORDS;
        let allowed: Vec<_> =
            batch.targets.iter().map(|target| self.reference.allows_all_of(*target, during)).collect();
        if guarded > 0 {
            return reply.exits(7);
        }
        if !are_named || allowed.iter().all(|allowed| *allowed == Some(false)) {
            return reply.succeeds();
        }
        if allowed.contains(&Some(true)) {
            return reply.exits(1);
        }
        assert!(matches!(reply.code(), Some(0 | 1)), "should exit with 0 or 1, but {reply}");
        reply
    }
}
