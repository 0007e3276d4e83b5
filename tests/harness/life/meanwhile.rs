//! What holds for a while only: a pause, in which what is listed passes, and a reload on trial, which is confirmed or rolls
//! itself back.

use std::thread;
use std::time::{Duration, Instant};

use super::Life;
use super::plan::CONFIG_ALLOW;
use super::prefix::Prefix;
use super::reference::During;

/// So long a trial that nobody confirms may take to be rolled back: of a second, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

impl Life {
    /// Nothing is dropped, whatever is done meanwhile; then everything is again, what was added meanwhile, too.
    pub(super) fn pause_for_a_while(&mut self) -> Vec<Prefix> {
        self.note("pause".to_owned());
        self.net.filterd(["pause", "1h"]).succeeds();
        self.reference.is_paused = true;
        let touched = match self.random.below(3) {
            0 => self.add(),
            1 => self.remove(),
            _ => self.reload(),
        };
        self.judge(&touched);
        self.note("resume".to_owned());
        self.net.filterd(["resume"]).succeeds();
        self.reference.is_paused = false;
        touched
    }

    /// A reload that is in force until somebody says that it may stay, or does not.
    pub(super) fn reload_on_trial(&mut self) -> Vec<Prefix> {
        let words = self.alter();
        let is_plain = self.is_refused(During(self.now(), self.now())) == Some(false);
        if !is_plain || self.plan.is_incomplete() || self.applied.is_incomplete() {
            self.think_again();
            return self.reload();
        }
        let is_meant = self.random.below(2) == 0;
        self.note(format!(
            "reload on trial, {}: {words}",
            if is_meant { "confirmed" } else { "not confirmed" }
        ));
        self.net.configure(&self.plan.text());
        let (before, applied) = (self.reference.clone(), self.applied.clone());
        let begun = self.now();
        let length = if is_meant { "1h" } else { "1s" };
        let reply = self.net.filterd(["reload", "--json", "--confirm", length]).succeeds();
        let touched = self.believe_reloaded(&reply, During(begun, self.now()));
        if is_meant {
            self.judge(&touched);
            self.net.filterd(["confirm"]).succeeds();
            return touched;
        }
        self.wait_until_rolled_back();
        let allowed = before.allowed.get(CONFIG_ALLOW).cloned().unwrap_or_default();
        self.reference.allowed.insert(CONFIG_ALLOW.to_owned(), allowed);
        (self.reference.configured, self.reference.enforce) = (before.configured, before.enforce);
        self.applied = applied;
        self.judge(&touched);
        // What was not confirmed stays away until somebody reloads.
        self.note("reload of what was not confirmed".to_owned());
        let touched_again = self.reload_as_planned();
        touched.into_iter().chain(touched_again).collect()
    }

    fn wait_until_rolled_back(&self) {
        let begun = Instant::now();
        loop {
            let status = self.net.filterd(["status", "--json"]).json();
            if status["trial"].is_null() && status.to_string().contains("was not confirmed, and what was") {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "it is not rolled back: {status}");
            thread::sleep(Duration::from_millis(20));
        }
    }
}
