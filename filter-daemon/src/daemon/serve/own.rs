//! Handles the end and note of each entry of an import. Entries with equal attributes become one change.

use std::collections::BTreeMap;
use std::sync::Arc;

use filter_common::target::Target;

use crate::blocklist::{Change, Targets, Want};
use crate::clock;
use crate::control::wire::own::Own;
use crate::daemon::change;

/// Targets by their attributes.
pub type TargetsByOwn = BTreeMap<Own, Targets>;

/// Groups targets by the attributes in `own`, if there are any.
pub fn parted(targets: &[Target], own: Vec<Own>) -> Option<TargetsByOwn> {
    if own.is_empty() {
        return None;
    }
    let mut parted = TargetsByOwn::new();
    own.into_iter().zip(targets).for_each(|(own, target)| parted.entry(own).or_default().push(*target));
    parted.values_mut().for_each(Targets::sort);
    Some(parted)
}

/// The changes for the groups, limited to `targets`. All other attributes come from `of`.
pub fn pages(parted: TargetsByOwn, targets: &Targets, of: &Want) -> Vec<Change> {
    let mut pages = Vec::new();
    for (Own { until, note }, mut part) in parted {
        if part.iter().any(|target| !targets.contains(target)) {
            part = part.iter().filter(|target| targets.contains(*target)).collect();
        }
        let (until, note) = (until.map(clock::from_the_wall), note.map(Arc::from));
        pages.extend(change::pages(&part, |targets| {
            Change::Want(Want { until, note: note.clone(), targets, ..of.clone() })
        }));
    }
    pages
}

#[cfg(test)]
mod tests;
