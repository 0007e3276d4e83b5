//! A full disk under the state directory: what is read takes effect, but a start knows only what was saved before.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use super::Life;
use super::heldback::Copy;
use super::prefix::Prefix;
use super::reference::Configured;
use super::wanted::During;

/// The size of the disk while it has room.
pub const ROOM: &str = "1g";

/// So long nothing is tried again, at most, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

impl Life {
    /// Reloads, trials and starts while nothing can be saved; then there is room again.
    pub(super) fn fill_disk(&mut self) -> Vec<Prefix> {
        // What is in force is surely on disk.
        let mut touched = self.reload_surely();
        self.note("the disk of the state directory is full".to_owned());
        self.disk.shrink_to_its_content();
        let manifest = self.manifest();
        self.is_full = true;
        for _ in 0..=self.random.below(3) {
            touched.extend(match self.random.below(3) {
                0 => self.try_in_vain(),
                1 => self.reload_unsaved(manifest.as_deref()),
                _ => self.kill_and_start(),
            });
            self.is_written = true;
            self.judge(&touched);
            // What filterd removed has made room.
            if self.manifest() != manifest {
                self.note("the disk was not full".to_owned());
                return self.make_room();
            }
        }
        if self.random.below(2) == 0 {
            return self.make_room();
        }
        self.die();
        self.note("the disk has room again".to_owned());
        self.give_room();
        touched.extend(self.start_anew());
        touched
    }

    /// A reload saves everything again. Lists whose files were lost or spoilt meanwhile are given up.
    pub(super) fn make_room(&mut self) -> Vec<Prefix> {
        self.note("the disk has room again; reload".to_owned());
        self.give_room();
        let mut touched = self.reload_surely();
        let Configured { rows, .. } = &self.reference.configured;
        let is_lost = |name: &String| rows.get(name).is_some_and(|row| row.copy == Copy::Unsaved);
        self.plan.lists.retain(|list| !is_lost(&list.name));
        if self.plan.lists.len() < self.applied.lists.len() {
            self.note("reload without lists that cannot be saved".to_owned());
            self.net.configure(&self.plan.text());
            touched.extend(self.reload_as_planned());
        }
        touched
    }

    /// The disk has room again. A running filterd then saves its live entries.
    pub(super) fn give_room(&mut self) {
        self.disk.resize(ROOM);
        self.is_full = false;
        let lost = |life: &Self| life.net.filterd(["status"]).output.contains("would be lost in a restart");
        let begun = Instant::now();
        while self.frozen.is_none() && lost(self) {
            assert!(begun.elapsed() < PATIENCE, "live entries are not written");
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// A reload that no live list forbids.
    pub(super) fn reload_surely(&mut self) -> Vec<Prefix> {
        if self.is_refused(During(self.now(), self.now())) != Some(false) {
            self.think_again();
        }
        self.reload_as_planned()
    }

    fn reload_unsaved(&mut self, manifest: Option<&[u8]>) -> Vec<Prefix> {
        let words = self.alter();
        self.note(format!("reload on a full disk: {words}"));
        self.net.configure(&self.plan.text());
        let begun = self.now();
        let reply = self.net.filterd(["reload", "--json"]);
        let during = During(begun, self.now());
        if self.is_refused(during) != Some(false) && reply.code() == Some(3) {
            self.think_again();
            return self.reload_as_planned();
        }
        let touched = self.believe_reloaded(&reply, during);
        if self.manifest().as_deref() != manifest {
            return touched;
        }
        let not_kept = reply.json()["not_kept"].to_string();
        for (name, row) in &self.reference.configured.rows {
            let is_reported = not_kept.contains(&format!("no copy of list \\\"{name}\\\""));
            assert!(is_reported || row.copy != Copy::Unsaved, "no message names list {name}: {reply}");
        }
        let is_reported = not_kept.contains("no copy of the configuration");
        assert!(
            is_reported || self.plan.text() == self.saved.0.text(),
            "no message names the configuration: {reply}"
        );
        touched
    }

    /// Nothing is tried where the way back cannot be saved.
    fn try_in_vain(&mut self) -> Vec<Prefix> {
        let words = self.alter();
        self.note(format!("reload on trial on a full disk: {words}"));
        self.net.configure(&self.plan.text());
        let is_refused = self.is_refused(During(self.now(), self.now())) != Some(false);
        let reply = self.net.filterd(["reload", "--confirm", "1h"]);
        if !(is_refused && reply.code() == Some(3)) {
            reply.exits(5).complains("a rollback would not be possible");
        }
        self.judge(&[]);
        self.think_again();
        self.note("reload of the files".to_owned());
        self.reload_as_planned()
    }

    /// The record of what is saved.
    fn manifest(&self) -> Option<Vec<u8>> {
        fs::read(self.net.home().path("state/current")).ok()
    }
}
