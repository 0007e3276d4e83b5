//! Restores live entries at a start, as far as they are on disk.

use std::path::Path;

use tracing::{error, info, warn};

use super::losses::{A_COMMIT_BEHIND, Losses, told_behind};
use super::{Persistence, live_entries};
use crate::blocklist::{Blocklist, Change, ListInfo, Timestamp};
use crate::clock;
use crate::command::render::figure::counted_as;
use crate::config::{Config, ListName};
use crate::daemon::error::DaemonError;
use crate::daemon::names::{default_list, is_of_commands};
use crate::daemon::time;
use crate::journal::{Journal, JournalDamage, JournalFindings, Replacement};
use crate::text::{Explain, printable};

/// Facts about the filterd before, from outside the state directory.
#[derive(Clone, Copy, Debug, Default)]
pub struct EarlierRun {
    /// A filter was found in the kernel, so that there was a journal if anything was blocked live.
    pub left_at_work: bool,
    /// Since when not all live entries were on disk when it ended, in seconds since 1970.
    pub unsaved: Option<u64>,
}

/// Opens the journal, and builds a blocklist from it.
pub fn restore(directory: &Path, before: EarlierRun) -> Result<(Persistence, Blocklist), DaemonError> {
    let (mut blocklist, mut outcome) = (Blocklist::default(), Ok(()));
    let here = clock::moment();
    let now = here.own;
    let EarlierRun { left_at_work, unsaved } = before;
    let (journal, mut found, refused) = Journal::open(directory, &here, &mut |record| {
        if outcome.is_ok() {
            outcome = blocklist.apply(&Change::Replay(record), now).map(|_| ());
        }
    })?;
    let unsaved = unsaved.map(|since| Timestamp::from_secs(u32::try_from(since).unwrap_or(u32::MAX)));
    found.behind = found.behind.or(unsaved);
    let refused_since = refused.as_ref().map(|error| (now, error.explain()));
    let (retry, checked) = (clock::instant(), clock::instant());
    let clock_is_behind = found.clock_behind;
    let losses = Losses::of(directory, &found, left_at_work, now);
    let mut persistence = Persistence {
        journal,
        compaction: None,
        retry,
        checked,
        refused: refused_since,
        losses,
        clock_is_behind,
    };
    outcome?;
    if found.behind.is_some() && persistence.losses.are_noted() {
        persistence.journal.forget_earlier_loss();
    }
    // Writes the time, so that a later reader converts times like this one, and finds no missing commit
    // behind a row written now.
    if found.is_of_another_time || found.is_a_commit_behind && persistence.losses.are_noted() {
        persistence.note_time();
    }
    blocklist.apply(&Change::EndReplay, now)?;
    if let Some(refused) = refused {
        error!("{}", refused.explain());
        error!("live entries from before are not blocked, and new ones would be lost in a restart");
    }
    tell(&found, &blocklist, left_at_work, now);
    Ok((persistence, blocklist))
}

impl Persistence {
    /// Frees list names that are reserved now or that this configuration needs. Live entries with such a name
    /// move to the default list. This is only needed if the journal lost something after the configuration
    /// took effect.
    pub fn free_names(&mut self, config: &Config, blocklist: &mut Blocklist) -> Result<(), DaemonError> {
        let is_reserved = |name: &str| name.parse::<ListName>().is_ok_and(|name| name.is_reserved());
        let is_listed = |name: &str| config.lists.iter().any(|list| list.name.as_str() == name);
        let is_taken = |list: &ListInfo| {
            list.origin.is_live()
                && !is_of_commands(&list.name, list.polarity)
                && (is_reserved(&list.name) || is_listed(&list.name))
        };
        let mut moves = Vec::new();
        for (id, list) in blocklist.lists().iter().filter(|(_, list)| is_taken(list)) {
            let (name, into) = (&list.name, default_list(list.polarity));
            moves.push((id, into.into()));
            let go_on = counted_as(list.entries, ["live entry was", "live entries were"]);
            let why = if is_listed(name) { "defined in the configuration" } else { "reserved for filterd" };
            warn!("list \"{name}\" is now {why}: its {go_on} moved to list \"{into}\"");
        }
        let moved = blocklist.apply(&Change::MoveEntries(moves), clock::now())?;
        self.write_soon(moved.records);
        Ok(())
    }
}

fn tell(found: &JournalFindings, blocklist: &Blocklist, left_at_work: bool, now: Timestamp) {
    if let Some(damage) = &found.damage {
        tell_damage(damage, now);
    }
    if found.is_new && left_at_work {
        error!(
            "the filter of an earlier filterd was attached, but there was no journal: its live entries are not blocked"
        );
    }
    if let Some(since) = found.behind {
        error!("{}", told_behind(since));
    }
    if found.is_a_commit_behind {
        error!("{A_COMMIT_BEHIND}");
    }
    if found.damaged_rows > 0 {
        let rows = counted_as(found.damaged_rows, ["row of the journal is", "rows of the journal are"]);
        error!("some live entries are not blocked: {rows} damaged");
    }
    if found.skipped > 0 {
        let records = ["record of the journal is", "records of the journal are"];
        let records = counted_as(found.skipped, records);
        warn!("{records} skipped: a newer filterd wrote them, and this one does not know their kind");
    }
    if let Some(behind) = found.clock_behind {
        warn!("{}", time::words(behind));
    }
    let live = live_entries(blocklist);
    if live > 0 {
        info!("{} restored", counted_as(live, ["live entry", "live entries"]));
    }
}

fn tell_damage(damage: &JournalDamage, now: Timestamp) {
    let reason = damage.reason.as_str();
    let aside = damage.set_aside.as_ref().map(|aside| printable::path(aside).to_string());
    let damaged_file = aside.as_deref();
    match &damage.instead {
        Replacement::Copy { made } => {
            let age = now.secs().saturating_sub(made.secs());
            error!(
                reason,
                damaged_file,
                "the journal is damaged: live entries restored from a copy {age} s old, changes made since then are lost"
            );
        }
        Replacement::DamagedCopy { reason: copy } => {
            let copy = copy.as_str();
            error!(reason, copy, damaged_file, "the journal and its copy are damaged: live entries are lost");
        }
        Replacement::Nothing => {
            error!(reason, damaged_file, "the journal is damaged and has no copy: live entries are lost");
        }
    }
}
