//! Describes the guarded addresses of an addition: those left out, and those that a blocked prefix
//! contains.

use super::super::render::console::Console;
use super::super::render::figure::count;
use super::change::ChangeOutcome;
use crate::control::wire::{Changed, Guarded};
use crate::text::Explanation;

/// Further addresses are counted, but not shown.
const MOST_TOLD: usize = 10;

/// Describes the guarded addresses within blocked prefixes, which pass. None if there are none.
pub fn around(changed: &Changed) -> Option<String> {
    // Two messages may contain prefixes around the same address.
    let mut all: Vec<_> = changed.around.iter().map(word).collect();
    all.sort();
    all.dedup();
    (!all.is_empty())
        .then(|| format!("except addresses this host depends on, which still pass: {}", listed(all)))
}

/// Prints the targets that were left out.
pub fn tell(outcome: &ChangeOutcome, console: &mut Console) {
    let Changed { refused, guarded, .. } = &outcome.changed;
    if *refused == 0 {
        return;
    }
    let mut told: Vec<_> = guarded.iter().map(word).collect();
    told.extend(outcome.refusals.iter().map(|why| why.message.replace('\n', ", ")));
    let all = listed(told);
    let message = match refused {
        1 => format!("1 target was not blocked: {all}"),
        refused => format!("{} targets were not blocked: {all}", count(*refused)),
    };
    let remedy = "filterd never blocks addresses this host depends on, and no option overrides that\nsee all of them: filterd allow list --list guard";
    console.complain(&Explanation::new(message, remedy));
}

fn word(guarded: &Guarded) -> String {
    format!("{} ({})", guarded.address, guarded.why)
}

fn listed(mut all: Vec<String>) -> String {
    let more = all.len().saturating_sub(MOST_TOLD);
    all.truncate(MOST_TOLD);
    all.extend((more > 0).then(|| format!("and {} more", count(more as u64))));
    all.join(", ")
}
