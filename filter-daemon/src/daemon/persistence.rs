//! Live entries and their journal. Changes are answered when they are on disk, and entries are restored at
//! the next start.

mod losses;
mod restore;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use tracing::warn;

use crate::blocklist::{Blocklist, Bookmark, Record, Timestamp};
use crate::clock;
use crate::control::ServerHandle;
use crate::control::wire::{About, Fault};
use crate::journal::{Done, Journal, JournalLoss, NotWritten};
use crate::state_directory::IF_REPLACED;
use crate::text::Explanation;
use losses::Losses;
pub use restore::{EarlierRun, restore};

/// Targets written between two requests, which takes a few milliseconds.
const PAGE: usize = 8192;

/// How often to check that the journal's file still exists and can be written.
const CHECK: Duration = Duration::from_secs(5);

/// How long to wait after the disk has failed.
const RETRY: Duration = Duration::from_secs(1);

/// The remedy for a journal that exists but cannot be opened.
pub const MEND_AND_START: &str = "fix that, then restart filterd; to keep live entries, run `filterd export > FILE` before and `filterd import FILE` after it";

type WriteResult = Result<(), NotWritten>;

/// The part of the owner's state that concerns the journal.
pub struct Persistence {
    journal: Journal,
    compaction: Option<Compaction>,
    /// When the journal may be tried again after the disk has failed.
    retry: Instant,
    /// When its file was last checked.
    checked: Instant,
    /// Why there is no journal, and since when.
    refused: Option<(Timestamp, Explanation)>,
    /// Losses that this start or an earlier one found.
    losses: Losses,
    /// How many seconds the clock was behind the journal's last record when it was read.
    clock_is_behind: Option<u64>,
}

/// A rewrite: all wanted entries are appended to the journal, then the rows before them are removed.
struct Compaction {
    /// Receives the result when the last page is on disk.
    written: oneshot::Receiver<WriteResult>,
    stage: CompactionStage,
}

enum CompactionStage {
    /// Pages follow from this bookmark, if any.
    Pages(Option<Bookmark>),
    /// The earlier rows are being removed.
    Trimming,
}

/// The combined result of several writes, which is reported with the last one.
#[derive(Clone, Default)]
pub struct WriteOutcome {
    is_expected: bool,
    failed: Arc<Mutex<Option<NotWritten>>>,
}

fn live_entries(blocklist: &Blocklist) -> u64 {
    let kept = blocklist.lists().iter().filter(|(_, list)| list.origin.is_kept());
    kept.map(|(_, list)| list.entries).sum()
}

impl Persistence {
    /// Writes these records, then calls `done`.
    pub fn write(&mut self, records: Vec<Record>, done: Done) {
        self.journal.write(records, done);
    }

    /// Writes nothing, and calls `done` with errors of the disk once the result of all writes under way is
    /// known.
    pub fn once_known(&mut self, done: Done) {
        self.journal.once_known(done);
    }

    /// Writes these records within milliseconds, for changes that no client waits for.
    pub fn write_soon(&mut self, records: Vec<Record>) {
        if !records.is_empty() {
            self.journal.write_soon(records, clock::instant());
        }
    }

    /// Writes a part of a larger change, and adds the result to `outcome`.
    pub fn write_part(&mut self, records: Vec<Record>, outcome: &mut WriteOutcome) {
        if !records.is_empty() {
            outcome.is_expected = true;
            let outcome = outcome.clone();
            self.journal.write(records, Box::new(move |written| outcome.note(written)));
        }
    }

    /// Sets a place beside the socket. It records that changes are not on disk if the state directory cannot.
    pub fn note_beside_socket(&mut self, socket: ServerHandle) {
        let note = move |since: Option<Timestamp>| socket.note_unsaved(since.map(Timestamp::secs));
        self.journal.set_second_place(Box::new(note));
    }

    /// Writes the present wall-clock time, for a reader of the journal in another boot.
    pub fn note_time(&mut self) {
        self.journal.write_soon(Vec::new(), clock::instant());
    }

    /// How many seconds the clock was behind the journal's last record when it was read, if it was.
    pub fn clock_is_behind(&self) -> Option<u64> {
        self.clock_is_behind
    }

    /// Checks the journal, and begins a rewrite if it is long or has lost something.
    pub fn keep_up(&mut self, blocklist: &Blocklist, now: Timestamp) {
        let instant = clock::instant();
        self.journal.keep_up(instant);
        self.journal.keep_copy(now);
        if instant.duration_since(self.checked) >= CHECK {
            self.checked = instant;
            self.journal.check();
            if self.losses.note_again() {
                self.journal.forget_earlier_loss();
            }
        }
        let is_due = self.journal.is_long(live_entries(blocklist))
            || self.journal.is_behind() && self.retry <= instant;
        if is_due && self.compaction.is_none() {
            self.journal.mark();
            self.write_page(blocklist, Bookmark::default());
        }
    }

    /// Waits until a step of the rewrite is on disk, or forever if none is under way.
    pub async fn compacted(&mut self) -> Result<WriteResult, oneshot::error::RecvError> {
        match &mut self.compaction {
            Some(compaction) => (&mut compaction.written).await,
            None => std::future::pending().await,
        }
    }

    /// Continues the rewrite: writes the next page, and after the last one removes the earlier rows.
    pub fn compact(
        &mut self,
        blocklist: &Blocklist,
        now: Timestamp,
        written: Result<WriteResult, oneshot::error::RecvError>,
    ) {
        let Some(Compaction { stage, .. }) = self.compaction.take() else { return };
        match (written, stage) {
            (Ok(Ok(())), CompactionStage::Pages(Some(from))) => self.write_page(blocklist, from),
            (Ok(Ok(())), CompactionStage::Pages(None)) => {
                self.order(CompactionStage::Trimming, |journal, done| journal.trim(now, done))
            }
            (Ok(Ok(())), CompactionStage::Trimming) => {}
            (Ok(Err(_)) | Err(_), _) => self.retry = clock::instant() + RETRY,
        }
    }

    /// The time until the journal must be checked.
    pub fn until_due(&self) -> Option<Duration> {
        let now = clock::instant();
        let retry = || self.retry.saturating_duration_since(now);
        let is_waiting = self.journal.is_behind() && self.compaction.is_none();
        let check = CHECK.saturating_sub(now.duration_since(self.checked));
        is_waiting.then(retry).into_iter().chain(self.journal.until_due(now)).chain([check]).min()
    }

    /// Reports that changes made now would not survive a restart, and losses of earlier ones.
    pub fn faults(&self) -> impl Iterator<Item = Fault> {
        let refused = || {
            let (since, why) = self.refused.as_ref()?;
            let why = format!("{}; live entries from before are not blocked", why.message);
            Some(not_durable(*since, &why, MEND_AND_START))
        };
        let lost = || {
            let JournalLoss { since, why, .. } = self.journal.lost()?;
            let remedy = format!(
                "free some space there, or make it writable again: filterd retries every second and then writes everything that is missing; {IF_REPLACED} (`filterd list` shows what would be lost)"
            );
            Some(not_durable(clock::then(since), &why.to_string(), &remedy))
        };
        refused().or_else(lost).into_iter().chain(self.losses.faults())
    }

    /// The losses that were not acknowledged.
    pub fn notices(&self) -> impl Iterator<Item = Fault> {
        self.losses.notices()
    }

    /// Forgets these losses. Returns an error if the next start will show them again.
    pub fn acknowledge(&mut self, is_meant: impl Fn(&Fault) -> bool) -> Result<(), Explanation> {
        let was_noted = self.losses.are_noted();
        self.losses.acknowledge(is_meant)?;
        if !was_noted && self.losses.are_noted() {
            self.journal.forget_earlier_loss();
        }
        Ok(())
    }

    /// Waits until the result of every write is known.
    pub fn settle(&mut self) {
        self.journal.settle();
    }

    /// Why a filterd that continues from the disk would not have all live entries, as far as known.
    pub fn would_lose(&self, blocklist: &Blocklist) -> Option<Explanation> {
        let refused = self.refused.as_ref().filter(|_| live_entries(blocklist) > 0);
        let why = refused.map(|(_, why)| why.message.clone());
        let why = why.or_else(|| Some(self.journal.lost()?.why.to_string()))?;
        let message = format!("its live entries are not all on disk and would be lost: {why}");
        let remedy = "nothing has changed: the running filterd continues; `filterd status` shows the remedy, and `filterd list` has the entries, in case you restart it instead";
        Some(Explanation::new(message, remedy))
    }

    /// Whether missing entries are being written, or will be soon.
    pub fn is_catching_up(&self) -> bool {
        self.compaction.is_some() || self.journal.is_behind() && self.retry <= clock::instant()
    }

    /// Whether the next start will know of the losses that this one found.
    pub const fn losses_are_noted(&self) -> bool {
        self.losses.are_noted()
    }

    /// Waits until everything is written, and tries once more to write what the disk refused. If something is
    /// missing, returns since when, in seconds since 1970.
    pub fn end(mut self, blocklist: &Blocklist, now: Timestamp) -> Option<u64> {
        if self.journal.is_behind() {
            self.journal.mark();
            if self.write_all(blocklist) {
                self.journal.trim(now, Box::new(drop));
            }
        }
        self.journal.settle();
        let lost = self.journal.lost()?;
        warn!(
            "not all live changes were on disk at the end, and the next start will not have them: {}",
            lost.why
        );
        Some(clock::on_the_wall(clock::then(lost.since)))
    }

    /// Writes all wanted entries and waits. Returns true if all of them are on disk.
    fn write_all(&mut self, blocklist: &Blocklist) -> bool {
        let is_kept = |list| blocklist.lists().get(list).origin.is_kept();
        let (tell, told) = std::sync::mpsc::channel();
        let mut from = Some(Bookmark::default());
        while let Some(begin) = from {
            let (records, next) = blocklist.as_records(begin, PAGE, is_kept);
            let tell = tell.clone();
            self.journal.write(records, Box::new(move |written| _ = tell.send(written.is_ok())));
            from = next;
        }
        drop(tell);
        told.iter().all(|is_written| is_written)
    }

    fn write_page(&mut self, blocklist: &Blocklist, from: Bookmark) {
        let is_kept = |list| blocklist.lists().get(list).origin.is_kept();
        let (records, next) = blocklist.as_records(from, PAGE, is_kept);
        self.order(CompactionStage::Pages(next), |journal, done| journal.write(records, done));
    }

    fn order(&mut self, stage: CompactionStage, order: impl FnOnce(&mut Journal, Done)) {
        let (told, written) = oneshot::channel();
        // The receiver is gone if the daemon stops meanwhile.
        order(&mut self.journal, Box::new(move |result| _ = told.send(result)));
        self.compaction = Some(Compaction { written, stage });
    }
}

fn not_durable(since: Timestamp, why: &str, remedy: &str) -> Fault {
    let message = format!("live changes would be lost in a restart: {why}");
    Fault {
        about: About::Durability,
        since: clock::on_the_wall(since),
        told: Explanation::new(message, remedy),
        id: None,
    }
}

impl WriteOutcome {
    /// Whether a write was begun.
    pub fn is_expected(&self) -> bool {
        self.is_expected
    }

    /// Adds the result of one more write.
    pub fn note(&self, written: WriteResult) {
        if let Err(failure) = written {
            *self.failed.lock().expect("noting a failure cannot panic") = Some(failure);
        }
    }

    /// The combined result of all writes.
    pub fn get(&self) -> WriteResult {
        self.failed.lock().expect("noting a failure cannot panic").clone().map_or(Ok(()), Err)
    }
}
