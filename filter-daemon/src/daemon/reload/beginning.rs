//! Applies the loaded configuration at a start, in a blocklist that no filter enforces yet.

use std::collections::BTreeSet;

use super::{ListRows, Loaded, warnings};
use crate::blocklist::{Blocklist, Change, EntryTimes, ListChange, Record, TimedTargets};
use crate::clock;
use crate::config::Config;
use crate::control::wire::reload::Reply as Reloaded;
use crate::daemon::error::DaemonError;
use crate::daemon::lists::ListToKeep;
use crate::source::reading::SourceReadings;

/// Fills a blocklist that no filter enforces yet with what was loaded. Returns the configuration, the
/// messages for the operator, and the copies to keep.
pub fn begin_with(
    mut loaded: Loaded,
    blocklist: &mut Blocklist,
    sources: &mut SourceReadings,
) -> Result<(Config, Reloaded, Vec<ListToKeep>), DaemonError> {
    let mut rows = ListRows::take(&mut loaded, blocklist, sources)?;
    rows.counts_from_copies = true;
    let now = clock::now();
    blocklist.apply(&Change::Settings(rows.settings), now)?;
    let mut reloaded = Reloaded::default();
    for (id, targets) in std::mem::take(&mut rows.contents) {
        warnings::of_contents(blocklist.lists().get(id), &targets, &mut reloaded.warnings);
        let (list, polarity) = (blocklist.lists().get(id).name.clone(), blocklist.lists().get(id).polarity);
        let (since, until) = (rows.since(id), rows.until(id));
        let times = match until {
            Some(_) => rows.timed.begin(id, targets, (since, until), (rows.stays_copied(id), now)),
            None => {
                EntryTimes { runs: vec![TimedTargets { since, until, targets }], ..EntryTimes::default() }
            }
        };
        for TimedTargets { since, until, targets } in times.runs {
            // Replayed as an earlier state, because it never needs to be undone.
            let (list, since) = (list.clone(), since.min(now));
            let want = Record::Want { list, polarity, since, until, note: None, by: None, targets };
            blocklist.apply(&Change::Replay(want), now)?;
        }
        ListChange::Spend(id, times.spent).apply_to(blocklist, now);
    }
    // Live lists existed before the configuration said how far they reach.
    rows.reaching.settle(blocklist);
    for change in rows.reaching.all_anew(blocklist) {
        blocklist.apply(&change, now)?;
    }
    blocklist.apply(&Change::EndReplay, now)?;
    let to_keep = rows.settle(&BTreeSet::new(), blocklist, sources, &mut reloaded);
    ListChange::BeginOrder.apply_to(blocklist, now);
    Ok((loaded.config, reloaded, to_keep))
}
