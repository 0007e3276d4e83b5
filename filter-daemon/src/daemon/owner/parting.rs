//! How an owner parts from its place: it ends, or another filterd takes over.

use std::path::Path;

use tracing::error;

use super::Owner;
use crate::clock;
use crate::control::wire::{self, take_over};
use crate::kernel::KernelError;
use crate::text::{Explain, Explanation};

impl Owner {
    /// Why another filterd is not to have this one's place, if that is so.
    pub fn would_lose(&self) -> Option<Explanation> {
        self.configuration
            .trial_in_the_way()
            .or_else(|| self.persistence.would_lose(self.protection.blocklist()))
    }

    /// Is protection paused?
    pub fn is_paused(&self) -> bool {
        self.pause.until().is_some()
    }

    /// Is what is not on disk being written, or about to be?
    pub fn is_catching_up(&self) -> bool {
        self.persistence.is_catching_up()
    }

    /// Waits until all live entries are on disk, or the disk has refused them.
    pub fn settle(&mut self) {
        self.persistence.write_soon(self.protection.take_records());
        self.persistence.settle();
    }

    /// Lets another filterd have the journal, with everything in it.
    pub fn hand_over_journal(&mut self) {
        self.persistence.write_soon(self.protection.take_records());
        self.persistence.let_go();
    }

    /// The filterd whose place this is has gone.
    pub fn stand_alone(&mut self) -> Result<(), KernelError> {
        self.protection.filter_mut().stand_alone()
    }

    /// The state directory is to be another filterd's: nothing that is fetched is written there any more.
    pub fn let_go_of_feeds(&self) {
        self.feeds.let_go();
    }

    /// It is not.
    pub fn come_back_to_feeds(&self) {
        self.feeds.come_back();
    }

    /// Another filterd has this one's place.
    pub fn give_way(&mut self) {
        if let Err(error) = self.protection.filter_mut().give_way() {
            error!("{}", error.explain());
        }
    }

    /// It has not: everything is as it was.
    pub fn come_back(&mut self) -> Result<(), KernelError> {
        self.protection.filter_mut().come_back()
    }

    /// Where this one has its things, for one that is to take its place.
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

    /// Takes the filter off every interface, and everything out of the kernel.
    pub fn detach(&mut self) -> Result<(), KernelError> {
        self.protection.filter_mut().remove()?;
        self.interfaces.forget();
        Ok(())
    }

    /// Waits until the copies of lists are written.
    pub async fn keep_copies(&mut self) {
        self.lists.end(self.protection.blocklist_mut()).await;
    }

    /// Does the state directory say what this start did not find?
    pub fn losses_are_noted(&self) -> bool {
        self.persistence.losses_are_noted()
    }

    /// Waits until the journal is written and the broker is gone. Tells since when not all live changes are on disk, in
    /// seconds since 1970, if they are not.
    pub fn end(self) -> Option<u64> {
        let unsaved = self.persistence.end(self.protection.blocklist(), clock::now());
        self.protection.end();
        unsaved
    }

    /// Nothing is to be written, and nobody to be told, by whoever has this one's place.
    pub fn end_without_a_word(self) {
        drop(self.persistence);
        self.protection.end();
    }
}
