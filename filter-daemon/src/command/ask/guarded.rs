//! What an add met that is guarded: left out, or blocked around.

use super::super::render::console::Console;
use super::super::render::figure::count;
use super::change::Outcome;
use crate::control::wire::{Changed, Guarded};
use crate::text::Explanation;

/// More than these are counted, not told.
const MOST_TOLD: usize = 10;

/// Guarded addresses within what is blocked, if there are any: they pass.
pub fn around(changed: &Changed) -> Option<String> {
    // Two messages may be around the same.
    let mut all: Vec<_> = changed.around.iter().map(word).collect();
    all.sort();
    all.dedup();
    (!all.is_empty())
        .then(|| format!("except addresses this host depends on, which still pass: {}", listed(all)))
}

/// What was left out.
pub fn tell(outcome: &Outcome, console: &mut Console) {
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
