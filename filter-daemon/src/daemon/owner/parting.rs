//! The end of an owner.

use std::path::Path;

use super::Owner;
use crate::clock;
use crate::control::wire::{self, take_over};
use crate::kernel::KernelError;
use crate::text::Explanation;

impl Owner {
    /// Why another filterd must not take over now, if there is a reason.
    pub fn would_lose(&self) -> Option<Explanation> {
        self.configuration
            .trial_in_the_way()
            .or_else(|| self.core.persistence.would_lose(self.core.protection.blocklist()))
    }

    pub fn is_paused(&self) -> bool {
        self.pause.until().is_some()
    }

    /// Whether entries are being written to disk, or will be soon.
    pub fn is_catching_up(&self) -> bool {
        self.core.persistence.is_catching_up()
    }

    /// Waits until all live entries are on disk, or the disk has refused them.
    pub fn settle(&mut self) {
        self.core.persistence.write_soon(self.core.protection.take_records());
        self.core.persistence.settle();
    }

    /// The paths and the user of this filterd, for one that would take over.
    pub fn place(&self) -> take_over::Reply {
        let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let tables: u64 = self.tables().iter().map(|table| table.bytes).sum();
        take_over::Reply {
            version: wire::VERSION,
            pid: std::process::id(),
            user: nix::unistd::geteuid().as_raw(),
            state_dir: absolute(&self.run.state_dir),
            pin_dir: absolute(&self.run.pin_dir),
            memory: tables + crate::memory::own(),
        }
    }

    /// Detaches the filter from every interface, and removes everything from the kernel.
    pub fn detach(&mut self) -> Result<(), KernelError> {
        self.core.protection.filter_mut().remove()?;
        self.attachment.interfaces.forget();
        Ok(())
    }

    /// Saves the generation before anything else is done.
    pub async fn save_now(&mut self) {
        self.core.lists.write_next();
        self.keep_copies().await;
    }

    /// Waits until the copies of lists are written.
    pub async fn keep_copies(&mut self) {
        self.core.lists.end(self.core.protection.blocklist()).await;
    }

    /// Reports to CrowdSec the packets that its decisions have stopped since the last report, for at most two
    /// seconds.
    pub async fn report_usage(&mut self) {
        if self.crowdsec.has_last_reports() {
            let snapshot = self.snapshot();
            let dropped = self.counters.counting.dropped_by_list(&self.core.protection);
            let begun = self.crowdsec.report(&snapshot, dropped, true);
            self.crowdsec.end_last_reports(begun).await;
        }
    }

    /// Whether the state directory records the losses that this start found.
    pub fn losses_are_noted(&self) -> bool {
        self.core.persistence.losses_are_noted()
    }

    /// Waits until the journal is written and the broker has ended. If live changes are not on disk, returns
    /// since when, in seconds since 1970.
    pub fn end(self) -> Option<u64> {
        self.sources.feeds.let_go();
        let unsaved = self.core.persistence.end(self.core.protection.blocklist(), clock::now());
        self.core.protection.end();
        unsaved
    }
}
