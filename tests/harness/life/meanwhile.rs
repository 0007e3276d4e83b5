//! What holds for a while only: a pause, in which what is listed passes, and a reload on trial, which is confirmed or rolls
//! itself back.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::Life;
use super::asking::Term;
use super::batch::Batch;
use super::heldback::Copy;
use super::packets::USUAL;
use super::plan::Reader;
use super::prefix::Prefix;
use super::reloads::all_of;
use super::wanted::{During, Lease};
use crate::{SavedGeneration, until};

/// So long something that happens by itself may take: of a second, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Sources that are looked at for the end of a pause.
const LOOKED_AT: usize = 20;

impl Life {
    /// Nothing is dropped, whatever is done meanwhile; then everything is again, what was added meanwhile, too.
    pub(super) fn pause(&mut self) -> Vec<Prefix> {
        let length = [1, 2, 3600][self.random.below(3)];
        self.note(format!("pause {length}s"));
        let begun = self.now();
        self.net.filterd(["pause", &format!("{length}s")]).succeeds();
        let during = During(begun, self.now());
        self.reference.pause = Lease::of(during, Some(Duration::from_secs(length)));
        match self.random.below(4) {
            0 => self.add(),
            1 => self.remove(),
            2 => self.reload(),
            _ => Vec::new(),
        }
    }

    /// Somebody ends it, or it ends by itself.
    pub(super) fn resume_or_wait(&mut self) -> Vec<Prefix> {
        let Lease { surely, perhaps } = self.reference.pause;
        if perhaps > self.now() + 10.0 || self.random.below(2) == 0 {
            self.note("resume".to_owned());
            self.net.filterd(["resume"]).succeeds();
        } else {
            self.note(format!("the pause ends by itself at {surely:.1} s"));
            self.wait_until_dropped();
        }
        self.reference.pause = Lease::NEVER;
        Vec::new()
    }

    pub(super) fn is_paused(&self) -> bool {
        self.reference.pause != Lease::NEVER
    }

    /// Nobody is left who could end it: the process that holds the kernel does, or the kernel itself.
    pub(super) fn death_ends_a_pause(&mut self) {
        if self.is_paused() {
            self.wait_until_dropped();
            self.reference.pause = Lease::NEVER;
        }
    }

    /// Until those are dropped again who would be without a pause, if there are any.
    fn wait_until_dropped(&mut self) {
        let mut random = self.judges_random();
        let known = self.world.known(&mut random, LOOKED_AT);
        let sources: Vec<_> = known.iter().flat_map(|target| target.edges(0)).collect();
        let now = self.frozen.unwrap_or_else(|| self.now());
        // Those whose own time ends meanwhile tell nothing.
        let meanwhile = During(now, now + PATIENCE.as_secs_f64());
        let dropped =
            |source: &std::net::IpAddr| self.reference.is_listed((*source, USUAL), meanwhile) == Some(true);
        let sources: Vec<_> = sources.into_iter().filter(dropped).collect();
        if !self.reference.enforce || self.is_detached || sources.is_empty() {
            thread::sleep(Duration::from_secs(4));
            return;
        }
        let frames: Vec<_> = sources.iter().map(|source| super::judge::away(*source)).collect();
        let begun = Instant::now();
        while self.net.arrivals(0, &frames).contains(&true) {
            assert!(begun.elapsed() < PATIENCE, "the pause does not end: {sources:?} pass");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// A reload that is in force until somebody says that it may stay, or does not. Meanwhile others add, another reload is
    /// refused, and filterd may be killed and start again.
    pub(super) fn reload_on_trial(&mut self) -> Vec<Prefix> {
        let words = self.alter();
        let is_plain = self.is_refused(During(self.now(), self.now())) == Some(false);
        // Damaged copies are found when they are read: then it is too late.
        let is_damaged = self.reference.configured.rows.values().any(|row| row.copy == Copy::Damaged);
        if !is_plain || is_damaged {
            self.think_again();
            return self.reload();
        }
        if self.has_no_way_back() {
            return self.try_without_a_way_back(&words);
        }
        let (is_meant, is_killed) = (self.random.below(2) == 0, self.random.below(2) == 0);
        let is_unwanted = !is_meant && self.random.below(2) == 0;
        let end = match (is_meant, is_unwanted) {
            (true, _) => "confirmed",
            (false, true) => "rolled back by a user",
            (false, false) => "not confirmed",
        };
        let meanwhile = if is_killed { ", kill -9 meanwhile" } else { "" };
        self.note(format!("reload on trial, {end}{meanwhile}: {words}"));
        self.net.configure(&self.plan.text());
        let (before, applied) = (self.reference.clone(), self.applied.clone());
        let begun = self.now();
        let length = if is_meant || is_unwanted { "1h" } else { "1s" };
        let reply = self.net.filterd(["reload", "--json", "--confirm", length]);
        self.is_on_trial = true;
        let mut touched = self.believe_reloaded(&reply, During(begun, self.now()));
        self.must_reload(reply);
        let size = self.size().min(300);
        let mut added = self.world.batch(&mut self.random, size);
        added.targets.truncate(300);
        let mut added = Batch::of(added.targets, "targets, while something is on trial");
        touched.extend(&added.targets);
        // Whoever tries is told before the copies of what is tried are written.
        self.is_written = false;
        let is_full = !self.left_out.has("disk") && self.random.below(3) == 0;
        if is_full {
            self.note("the disk of the state directory is full".to_owned());
            self.disk.shrink_to_its_content();
            added = Batch::default();
        }
        if is_meant {
            self.judge(&touched);
            self.net.filterd(["reload"]).exits(5).complains("is on trial until ");
            self.add_unless_full(&added);
            if is_killed {
                self.start_within_trial(is_full);
            }
            self.judge(&touched);
            self.decide("confirm", is_full);
            self.is_on_trial = false;
            if is_full {
                touched.extend(self.make_room());
            }
            self.save();
            self.is_written = true;
            if is_killed {
                self.kill_and_start_as_it_was();
            }
            return touched;
        }
        if is_killed && is_unwanted {
            self.start_within_trial(is_full);
            self.judge(&touched);
        } else if is_killed {
            self.kill_and_start_as_it_was();
        }
        if is_unwanted {
            self.decide("rollback", is_full);
        }
        self.wait_until_rolled_back();
        touched.extend(all_of(&[&before.configured.allowed]));
        self.reference.configure(before.configured);
        // When each entry was to end is known to whoever has tried it, and to whoever started meanwhile by the copies of before,
        // which nobody touches.
        self.is_written = true;
        self.reference.enforce = before.enforce;
        self.applied = applied;
        self.is_on_trial = false;
        self.judge(&touched);
        // It stays so over a restart, and for whoever adds, until somebody reloads.
        self.add_unless_full(&added);
        if is_killed {
            self.kill_and_start_as_it_was();
            self.judge(&touched);
        }
        self.note("reload of what was not confirmed".to_owned());
        let touched_again = if is_full { self.make_room() } else { self.reload_as_planned() };
        touched.into_iter().chain(touched_again).collect()
    }

    /// Only a part of a list is in force, or its copy is gone.
    fn has_no_way_back(&self) -> bool {
        self.reference.configured.rows.values().any(|row| row.copy != Copy::Whole)
    }

    /// What could not be rolled back is not tried, and nothing changes.
    fn try_without_a_way_back(&mut self, words: &str) -> Vec<Prefix> {
        self.note(format!("reload on trial without a way back: {words}"));
        self.net.configure(&self.plan.text());
        self.net.filterd(["reload", "--confirm", "1h"]).exits(5).complains("no copy of list");
        self.judge(&[]);
        self.think_again();
        self.note("reload of the files".to_owned());
        self.reload_as_planned()
    }

    /// On a full disk it would be lost.
    fn add_unless_full(&mut self, added: &Batch) {
        if !added.targets.is_empty() {
            self.add_batch("ssh", added, Term::PERMANENT);
        }
    }

    /// Somebody confirms or rolls back. Every second time filterd is killed meanwhile, and may have to be asked again.
    fn decide(&mut self, verb: &str, is_full: bool) {
        if self.random.below(2) == 0 {
            let wait = Duration::from_millis(self.random.below(40) as u64);
            self.note(format!("{verb}, kill -9 after {} ms", wait.as_millis()));
            let home = self.net.home();
            thread::scope(|scope| {
                let asks = scope.spawn(|| home.filterd([verb]));
                thread::sleep(wait);
                self.net.daemon().signal(Signal::SIGKILL);
                asks.join().expect("clients do not panic");
            });
            self.kill_and_start_as_it_was();
            if self.net.filterd(["status", "--json"]).json()["trial"].is_null() {
                return;
            }
        }
        let reply = self.net.filterd([verb]);
        let may_warn = verb == "confirm" && !self.reference.configured.doubted.is_empty() || is_full;
        if !(may_warn && reply.code() == Some(7)) {
            reply.succeeds();
        }
    }

    /// A start goes on with the trial: by its copies, where a file is lost or spoilt.
    fn start_within_trial(&mut self, is_full: bool) {
        if is_full || self.plan.lists.is_empty() || self.left_out.has("copies") {
            return self.kill_and_start_as_it_was();
        }
        until(|| self.is_trial_saved(), "what is tried is not saved");
        let file = self.plan.lists[self.random.below(self.plan.lists.len())].file.clone();
        let words = self.alterations().ruin(&file);
        self.note(format!("kill -9; {words}"));
        let begun = self.now();
        self.kill_and_start_as_it_was();
        let before = (&self.applied, &self.reference.configured);
        let configured = self.plan.read(Some(before), Reader::New, During(begun, self.now()));
        self.in_force(configured);
        self.applied = self.plan.clone();
    }

    fn is_trial_saved(&self) -> bool {
        let Some(trial) = SavedGeneration::read(self.net.home(), "trial") else { return false };
        let sizes: BTreeMap<_, _> =
            trial.lists().map(|list| (list["name"].as_str(), list["entries"].as_u64())).collect();
        let mut rows = self.reference.configured.rows.iter().filter(|(_, row)| row.id.is_some());
        rows.all(|(name, row)| sizes.get(&Some(name.as_str())) == Some(&Some(row.size as u64)))
    }

    /// Nobody changes anything meanwhile.
    fn kill_and_start_as_it_was(&mut self) {
        self.frozen = Some(self.now());
        self.net.end(Signal::SIGKILL);
        self.net.start(&self.plan.text());
        if !self.is_written {
            self.reference.may_begin_anew(During(self.now(), self.now()));
        }
        (self.frozen, self.reference.pause) = (None, Lease::NEVER);
    }

    fn wait_until_rolled_back(&self) {
        let begun = Instant::now();
        loop {
            let status = self.net.filterd(["status", "--json"]).json();
            // Where only a list's file was changed, nothing is said of the configuration.
            let words = status.to_string();
            let is_at_work = words.contains("is being rolled back") || words.contains("the rollback failed");
            if status["trial"].is_null() && !is_at_work {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "it is not rolled back: {status}");
            thread::sleep(Duration::from_millis(20));
        }
    }
}
