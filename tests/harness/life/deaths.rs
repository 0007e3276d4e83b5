//! The ends of filterd: killed, stopped or succeeded, and what the next one makes of it.

use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::Life;
use super::asking::{Term, ask_add};
use super::plan::{Plan, Reader};
use super::prefix::Prefix;
use super::reference::Configured;
use super::reloads::all_of;
use super::wanted::{During, Lease, Time};

/// No start takes so long, in seconds.
const A_START: f64 = 60.0;

impl Life {
    /// SIGKILL: the filter stays as it was, and the next filterd reads everything anew.
    pub(super) fn kill_and_start(&mut self) -> Vec<Prefix> {
        self.die();
        self.start_anew()
    }

    pub(super) fn die(&mut self) {
        self.note("kill -9".to_owned());
        self.frozen = Some(self.now());
        self.net.end(Signal::SIGKILL);
        self.death_ends_a_pause();
        self.judge(&[]);
    }

    /// What a filterd that starts knows of earlier ones.
    fn saved(&self) -> (&Plan, &Configured) {
        (&self.saved.0, &self.saved.1)
    }

    /// SIGTERM: it takes its filter with it, or leaves it, as the configuration says.
    pub(super) fn stop_and_start(&mut self) -> Vec<Prefix> {
        self.note(format!("stop; on_exit: {}", if self.applied.keep { "keep" } else { "detach" }));
        self.frozen = Some(self.now());
        self.is_detached = !self.applied.keep;
        assert!(self.net.stop().success(), "it ends well");
        self.is_written = true;
        if self.is_detached {
            self.wait_until_nothing_is_attached();
        }
        self.reference.pause = Lease::NEVER;
        self.judge(&[]);
        self.start_anew()
    }

    /// The kernel frees a pinned link from a work queue, a moment after its file is gone.
    fn wait_until_nothing_is_attached(&self) {
        let begun = Instant::now();
        while self.net.attached("eth0").is_some() {
            assert!(begun.elapsed() < Duration::from_secs(10), "the filter stays behind");
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Another filterd takes over.
    pub(super) fn take_over(&mut self) -> Vec<Prefix> {
        let mut words = self.change_while_away();
        // Whoever has nothing of a list does not take anybody's place.
        let now = self.now();
        let (now, soon) = (During(now, now), During(now, now + A_START));
        let is_unread = !self.plan.read(Some(self.saved()), Reader::New, now).unread.is_empty();
        if is_unread || self.is_refused(soon) != Some(false) {
            self.note(format!("reload: {words}"));
            self.net.configure(&self.plan.text());
            return self.reload_as_planned();
        }
        words += &self.time_jumps();
        self.note(format!("take over; {words}"));
        let (config, begun) = (self.plan.text(), self.now());
        self.net.succeed(&config);
        self.begin(begun)
    }

    /// SIGKILL while a client adds: what was not answered may be there or not, until it is said again.
    pub(super) fn kill_while_adding(&mut self) -> Vec<Prefix> {
        let size = 2000 + self.random.below(20_000).min(self.largest);
        let batch = self.world.batch(&mut self.random, size);
        let wait = Duration::from_millis(self.random.below(60) as u64);
        self.note(format!("kill -9 after {} ms of an add to web: {}", wait.as_millis(), batch.words));
        let home = self.net.home();
        let reply = thread::scope(|scope| {
            let adding = scope.spawn(|| ask_add(home, "web", &batch, Term::PERMANENT));
            thread::sleep(wait);
            self.net.daemon().signal(Signal::SIGKILL);
            adding.join().expect("clients do not panic")
        });
        self.frozen = Some(self.now());
        self.net.end(Signal::SIGKILL);
        self.death_ends_a_pause();
        // 7 may mean that some of it was guarded, or that filterd died amid its answers.
        let lease = if matches!(reply.code(), Some(0 | 1)) { Lease::PERMANENT } else { Lease::UNKNOWN };
        let guards = |target: &&Prefix| self.reference.guards(**target);
        let not_guarded: Vec<_> = batch.targets.iter().filter(|target| !guards(target)).collect();
        for target in not_guarded {
            self.reference.live_mut("web").add(*target, lease);
        }
        self.judge(&batch.targets);
        let touched = self.start_anew();
        self.judge(&touched);
        self.add_batch("web", &batch, Term::PERMANENT);
        batch.targets
    }

    /// Starts the next one, with what the operator did meanwhile.
    pub(super) fn start_anew(&mut self) -> Vec<Prefix> {
        let mut words = self.change_while_away();
        if !self.left_out.has("guard") && self.random.below(4) == 0 {
            words += &self.need_while_away().map(|needed| format!("; {needed}")).unwrap_or_default();
        }
        words += &if self.random.below(3) == 0 { self.machine_boots() } else { self.time_jumps() };
        let begun = self.now();
        let is_refused = self.is_refused(During(begun, begun + A_START));
        if is_refused.is_none() {
            self.think_again();
        }
        self.note(format!("start; {words}"));
        self.net.start(&self.plan.text());
        (self.frozen, self.is_detached) = (None, false);
        // Its last good configuration is in force instead.
        if is_refused == Some(true) {
            self.net.filterd(["status"]).exits(7).says("flush --list");
            self.applied = self.saved.0.clone();
            self.think_again();
        }
        self.begin(begun)
    }

    fn change_while_away(&mut self) -> String {
        if self.random.below(2) == 0 { "nothing changed meanwhile".to_owned() } else { self.alter() }
    }

    /// A new filterd knows its configuration, its files and its journal, and of lists what their last good copies tell: what they
    /// were, and when what is on them ends.
    fn begin(&mut self, begun: Time) -> Vec<Prefix> {
        let during = During(begun, self.now());
        let configured = self.plan.read(Some(self.saved()), Reader::New, during);
        let allowed = all_of(&[&self.reference.configured.allowed, &configured.allowed]);
        let before = self.in_force(configured);
        // What nobody has written down it cannot know.
        if !std::mem::take(&mut self.is_written) {
            self.reference.may_begin_anew(during);
        }
        // A restart ends a pause.
        self.reference.pause = Lease::NEVER;
        self.applied = self.plan.clone();
        self.save();
        let now = During(self.now(), self.now());
        let all = before.lists().chain(self.reference.lists()).flat_map(|(_, wanted)| wanted.effects());
        let all = all.map(|(target, _)| target);
        let moved = |target: &Prefix| before.wants(*target, now) != self.reference.wants(*target, now);
        let mut touched: Vec<_> = all.filter(moved).collect();
        touched.extend(allowed);
        touched.sort();
        touched.dedup();
        touched
    }
}
