//! That something is missing from the journal because the disk failed: since when, and why. The thread that writes notes
//! it, and whoever owns the journal asks.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use super::NotWritten;
use crate::clock;

/// Shared by both.
#[derive(Clone, Default)]
pub struct Behind(Arc<Mutex<Option<Lost>>>);

/// What was not written.
#[derive(Clone, Debug)]
pub struct Lost {
    /// When the first of it was lost.
    pub since: Instant,
    /// Why the last of it was.
    pub why: NotWritten,
    /// Has the disk refused something? Else the file was only another's for a while.
    pub is_refused: bool,
}

impl Behind {
    /// What is missing, if anything is.
    pub fn get(&self) -> Option<Lost> {
        self.lock().clone()
    }

    /// Why what is so is not all on disk, if the disk has refused something that is still missing.
    pub fn refusal(&self) -> Option<NotWritten> {
        self.get().filter(|lost| lost.is_refused).map(|lost| lost.why)
    }

    /// Something was lost. True if nothing was missing before.
    pub fn begin(&self, why: &NotWritten, is_refused: bool) -> bool {
        let mut lost = self.lock();
        let is_first = lost.is_none();
        let since = lost.as_ref().map_or_else(clock::instant, |lost| lost.since);
        let is_refused = is_refused || lost.as_ref().is_some_and(|lost| lost.is_refused);
        *lost = Some(Lost { since, why: why.clone(), is_refused });
        is_first
    }

    /// All of it has been made up for. True if anything was missing.
    pub fn end(&self) -> bool {
        self.lock().take().is_some()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Lost>> {
        self.0.lock().expect("noting a loss cannot panic")
    }
}
