//! Records that the disk failed and the journal lacks something: since when, and why. The thread that
//! writes sets it, and the owner of the journal reads it.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use super::NotWritten;
use crate::clock;

/// A record of losses, shared by both.
#[derive(Clone, Default)]
pub struct LossRecord(Arc<Mutex<Option<JournalLoss>>>);

/// A loss: changes that were not written.
#[derive(Clone, Debug)]
pub struct JournalLoss {
    /// When the first change was lost.
    pub since: Instant,
    /// Why the last change was lost.
    pub why: NotWritten,
    /// True if the disk refused a write. Otherwise another process only had the file for a while.
    pub is_refused: bool,
}

impl LossRecord {
    /// The loss, if the journal lacks anything.
    pub fn get(&self) -> Option<JournalLoss> {
        self.lock().clone()
    }

    /// Why the journal is incomplete, if the disk refused a write that is still missing.
    pub fn refusal(&self) -> Option<NotWritten> {
        self.get().filter(|lost| lost.is_refused).map(|lost| lost.why)
    }

    /// Records a loss. Returns true if nothing was missing before.
    pub fn begin(&self, why: &NotWritten, is_refused: bool) -> bool {
        let mut lost = self.lock();
        let is_first = lost.is_none();
        let since = lost.as_ref().map_or_else(clock::instant, |lost| lost.since);
        let is_refused = is_refused || lost.as_ref().is_some_and(|lost| lost.is_refused);
        *lost = Some(JournalLoss { since, why: why.clone(), is_refused });
        is_first
    }

    /// Records that nothing is missing any more. Returns true if anything was.
    pub fn end(&self) -> bool {
        self.lock().take().is_some()
    }

    fn lock(&self) -> MutexGuard<'_, Option<JournalLoss>> {
        self.0.lock().expect("noting a loss cannot panic")
    }
}
