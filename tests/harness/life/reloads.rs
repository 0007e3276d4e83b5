//! Reloads: of changed configurations and files, of such as must be refused, and while others add and remove.

use std::collections::BTreeSet;
use std::thread;

use super::Life;
use super::alter::Alter;
use super::asking::{Between, Term, ask_add, ask_remove};
use super::heldback::Copy;
use super::plan::{Listed, Reader};
use super::prefix::Prefix;
use super::reference::{Configured, Lists, Reference};
use super::wanted::{During, Wanted};
use crate::Reply;

/// What a reload enters and lets go of is counted, where there are no more targets than this.
const COUNTED: usize = 20_000;

const MISTAKES: [&str; 4] = [
    "enforce: false\nblock: [203.0.113.300]\n",
    "enforec: true\n",
    "enforce: false\nlists: [{name: drop}]\n",
    "block: [10.0.0.1/8]\nenforce: false\n",
];

impl Life {
    /// The configuration and its files are changed, and filterd hears of it.
    pub(super) fn reload(&mut self) -> Vec<Prefix> {
        let words = self.alter();
        self.note(format!("reload: {words}"));
        self.net.configure(&self.plan.text());
        self.reload_as_planned()
    }

    /// Changes what is meant; tells how.
    pub(super) fn alter(&mut self) -> String {
        let size = self.size();
        self.alterations().several(size)
    }

    pub(super) fn alterations(&mut self) -> Alter<'_> {
        let Self { plan, applied, world, random, net, left_out, .. } = self;
        let home = net.home();
        Alter { plan, applied, world, random, home, left_out }
    }

    pub(super) fn reload_as_planned(&mut self) -> Vec<Prefix> {
        let begun = self.now();
        let reply = self.net.filterd(["reload", "--json"]);
        let during = During(begun, self.now());
        match (self.is_refused(during), reply.code()) {
            (Some(true), _) | (None, Some(3)) => {
                reply.exits(3).says("flush --list");
                self.think_again();
                Vec::new()
            }
            (Some(false) | None, _) => {
                let touched = self.believe_reloaded(&reply, during);
                self.must_reload(reply);
                touched
            }
        }
    }

    /// 7 tells of lists that keep what they had, or of a disk that refused.
    pub(super) fn must_reload(&self, reply: Reply) {
        let is_doubted = !self.reference.configured.doubted.is_empty() || self.is_full;
        if !(is_doubted && reply.code() == Some(7)) {
            reply.succeeds();
        }
    }

    /// The reference reads it, too. Tells which targets that changed for any list.
    pub(super) fn believe_reloaded(&mut self, reply: &Reply, during: During) -> Vec<Prefix> {
        let before = (&self.applied, &self.reference.configured);
        let after = self.plan.read(Some(before), Reader::Running, during);
        let mut touched = difference(&self.reference.configured, &after);
        let allowed = all_of(&[&self.reference.configured.allowed, &after.allowed]);
        let before = self.in_force(after);
        touched.extend(widened(&before, &self.reference));
        touched.sort();
        touched.dedup();
        (self.applied, self.is_written) = (self.plan.clone(), true);
        self.save();
        // Targets that lists have on some ports enter and leave by clause.
        let by_clause = before.has_ports() || self.reference.has_ports();
        if touched.len() < COUNTED && !by_clause {
            let moved = |from: &Reference, to: &Reference| {
                let mut moved = Between::default();
                for target in &touched {
                    let (was, is) = (from.wants(*target, during), to.wants(*target, during));
                    moved.count(was.zip(is).map(|(was, is)| !was && is));
                }
                moved
            };
            let (entered, left) = (moved(&before, &self.reference), moved(&self.reference, &before));
            self.counts(reply, [("entered", entered), ("left", left)]);
        }
        touched.extend(allowed);
        touched
    }

    /// From now on this is configured. Tells what was.
    pub(super) fn in_force(&mut self, configured: Configured) -> Reference {
        let after = self.after(&self.reference, configured);
        std::mem::replace(&mut self.reference, after)
    }

    /// What is in force is on disk, unless the disk is full or it is on trial.
    pub(super) fn save(&mut self) {
        if self.is_full {
            let (saved, rows) = (&self.saved.1, &mut self.reference.configured.rows);
            let is_saved = |id| saved.rows.values().any(|row| row.id == id);
            let unsaved = rows.values_mut().filter(|row| row.id.is_some() && !is_saved(row.id));
            unsaved.for_each(|row| row.copy = Copy::Unsaved);
        } else if !self.is_on_trial {
            self.saved = (self.applied.clone(), self.reference.configured.clone());
        }
    }

    /// The same state under the configuration that is meant.
    fn after(&self, state: &Reference, configured: Configured) -> Reference {
        let mut after = Reference { enforce: self.plan.enforce, ..state.clone() };
        after.configure(configured);
        after
    }

    /// Do live entries hold a name that is wanted for a list of the configuration?
    pub(super) fn is_refused(&self, during: During) -> Option<bool> {
        let held = self.plan.lists.iter().filter_map(|list| self.reference.live.get(&list.name));
        let (least, most) = held.fold((0, 0), |(least, most), wanted| {
            let (some, more) = wanted.count(during);
            (least + some, most + more)
        });
        if least > 0 { Some(true) } else { (most == 0).then_some(false) }
    }

    /// What was refused is no longer meant; the files are as they are.
    pub(super) fn think_again(&mut self) {
        let files = std::mem::take(&mut self.plan.files);
        self.plan = self.applied.clone();
        self.plan.files = files;
        self.net.configure(&self.plan.text());
    }

    /// A configuration with a mistake in it changes nothing, its good half included.
    pub(super) fn failing_reload(&mut self) -> Vec<Prefix> {
        let mistake = MISTAKES[self.random.below(MISTAKES.len())];
        self.note(format!("reload of a configuration with a mistake: {mistake:?}"));
        self.net.configure(mistake);
        self.net.filterd(["reload"]).exits(3);
        self.net.configure(&self.plan.text());
        self.plan.block.clone()
    }

    /// A list of the configuration that is called as a live one that holds entries: refused, and nothing changes.
    pub(super) fn configure_the_name_of_a_live_list(&mut self) -> Vec<Prefix> {
        let free = |name: &&str| !self.plan.has(name) && !self.applied.has(name);
        let Some(name) = ["drop", "spam", "tor"].into_iter().find(free) else { return self.reload() };
        let batch = self.world.batch(&mut self.random, 20);
        if batch.targets.is_empty() {
            return self.reload();
        }
        self.add_batch(name, &batch, Term::PERMANENT);
        self.plan.lists.push(Listed::new(name, "a.txt"));
        self.plan.enforce = true;
        self.note(format!("reload: list {name} of a.txt is new, a name that live entries hold"));
        self.net.configure(&self.plan.text());
        self.reload_as_planned();
        batch.targets
    }

    /// Several clients: one reloads, one adds to a list of its own, one removes from another. At every moment meanwhile
    /// what is blocked in all states between is dropped, and what is blocked in none passes.
    pub(super) fn all_at_once(&mut self) -> Vec<Prefix> {
        let words = self.alter();
        if self.is_refused(During(self.now(), self.now())) != Some(false) {
            self.think_again();
        }
        let size = self.size();
        let added = self.world.batch(&mut self.random, size);
        let term = Term { ttl: self.ttl("ssh"), shortens: false };
        let removed = self.world.known(&mut self.random, size.min(2000));
        self.note(format!(
            "at once: reload ({words}), add to ssh{}: {}, remove of web: {} targets seen before",
            term.words(),
            added.words,
            removed.len()
        ));
        self.net.configure(&self.plan.text());
        let begun = self.now();
        let soon = During(begun, begun + 60.0);
        let before = (&self.applied, &self.reference.configured);
        let after = self.plan.read(Some(before), Reader::Running, soon);
        let mut touched = difference(&self.reference.configured, &after);
        touched.extend(all_of(&[&self.reference.configured.allowed, &after.allowed]));
        touched.extend(added.targets.iter().chain(&removed));
        let steady = self.steady_between(&after, &added.targets, &removed, &touched, soon);

        let home = self.net.home();
        let (replies, frames) = thread::scope(|scope| {
            let clients = [
                scope.spawn(|| home.filterd(["reload", "--json"])),
                scope.spawn(|| ask_add(home, "ssh", &added, term)),
                scope.spawn(|| ask_remove(home, &removed, Some("web"))),
            ];
            let mut frames = 0;
            while !clients.iter().all(|client| client.is_finished()) {
                frames += self.hold(&steady);
            }
            (clients.map(|client| client.join().expect("clients do not panic")), frames)
        });
        self.frames += frames;
        let during = During(begun, self.now());
        let [reload, add, remove] = replies;
        assert!(matches!(add.code(), Some(0 | 1 | 5 | 7)), "{add}");
        assert!(matches!(remove.code(), Some(0..=2)), "{remove}");
        self.in_force(after);
        self.must_reload(reload);
        (self.applied, self.is_written) = (self.plan.clone(), true);
        self.save();
        self.believe_added("ssh", &added.targets, term, during);
        self.believe_removed(&removed, Some("web"), during);
        touched.sort();
        touched
    }

    /// Sources that no state between can change: with everything removed and nothing added they are dropped, or with
    /// everything added and nothing removed they pass, in the old configuration and in the new one.
    fn steady_between(
        &mut self,
        after: &Configured,
        added: &[Prefix],
        removed: &[Prefix],
        touched: &[Prefix],
        soon: During,
    ) -> Vec<(std::net::IpAddr, bool)> {
        let now = self.reference.clone();
        let least = {
            self.believe_removed(removed, Some("web"), soon);
            std::mem::replace(&mut self.reference, now.clone())
        };
        let most = {
            self.believe_added("ssh", added, Term::PERMANENT, soon);
            std::mem::replace(&mut self.reference, now)
        };
        let later = |state: &Reference| self.after(state, after.clone());
        let states = [later(&least), least, later(&most), most];
        self.steady(touched, &states, soon)
    }
}

/// What is blocked for one side and not for the other, list by list; and all that live lists block otherwise than before.
fn difference(before: &Configured, after: &Configured) -> Vec<Prefix> {
    let only_in = |one: &Lists, other: &Lists| -> BTreeSet<Prefix> {
        let lists =
            one.iter().flat_map(|(name, wanted)| wanted.effects().map(move |(target, _)| (name, target)));
        let has = |other: &Wanted, target| other.leases_of_effect(target).next().is_some();
        let missing = lists.filter(|(name, target)| {
            let Wanted { ports, ttl, .. } = &one[*name];
            // With another time to live what was over comes again.
            let is_alike = |wanted: &Wanted| (&wanted.ports, &wanted.ttl) == (ports, ttl);
            !other.get(*name).is_some_and(|wanted| is_alike(wanted) && has(wanted, *target))
        });
        missing.map(|(_, target)| target).collect()
    };
    let (before, after) = (&before.blocked, &after.blocked);
    only_in(before, after).union(&only_in(after, before)).copied().collect()
}

/// What live lists block whose reach is another one.
pub(super) fn widened(before: &Reference, after: &Reference) -> Vec<Prefix> {
    let lists = before.live.iter().filter_map(|(name, wanted)| Some((wanted, after.live.get(name)?)));
    let changed = lists.filter(|(before, after)| before.reach() != after.reach());
    changed
        .flat_map(|(before, after)| before.effects().chain(after.effects()))
        .map(|(target, _)| target)
        .collect()
}

/// All targets of these lists.
pub(super) fn all_of(lists: &[&Lists]) -> Vec<Prefix> {
    let lists = lists.iter().flat_map(|lists| lists.values());
    let all: BTreeSet<_> = lists.flat_map(|wanted| wanted.iter().map(|(target, _)| target)).collect();
    all.into_iter().collect()
}
