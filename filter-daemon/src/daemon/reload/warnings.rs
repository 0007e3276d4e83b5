//! What the operator should know of lists that were taken as they are.

use filter_common::target::Target;

use crate::blocklist::{List, Polarity, Targets};
use crate::config::name::CONFIG_LIST;
use crate::source::well_known;

/// More prefixes of `block:` than these are not told one by one.
const MOST_TOLD: usize = 5;

/// What is on a list, taken by itself.
pub fn of_contents(list: &List, targets: &Targets, warnings: &mut Vec<String>) {
    if list.polarity == Polarity::Allow {
        return;
    }
    if *list.name == *CONFIG_LIST {
        of_wide(targets, warnings);
    }
    of_well_known(&list.name, targets, warnings);
}

/// What `block:` says is meant; most who name half the internet have slipped all the same.
fn of_wide(block: &Targets, warnings: &mut Vec<String>) {
    let wide = block.others.iter().filter(|target| target.is_wide());
    let told = |target: &Target| {
        let shorter = if matches!(target, Target::V4(_)) { "/8" } else { "/16" };
        format!("`block:` names {target}, which is wider than a {shorter}: it is blocked around what is guarded")
    };
    warnings.extend(wide.take(MOST_TOLD).map(told));
}

/// Resolvers and networks that many hosts need.
fn of_well_known(name: &str, targets: &Targets, warnings: &mut Vec<String>) {
    let what = if name == CONFIG_LIST { "`block:`".to_owned() } else { format!("list {name}") };
    warnings.extend(well_known::told(&what, targets));
}

/// A feed that names private ranges would cut a host off from its own network.
pub fn of_special(name: &str, special: u64, warnings: &mut Vec<String>) {
    let targets = match special {
        0 => return,
        1 => "1 target is, at least in part, a special range, which was".to_owned(),
        count => format!("{count} targets are, at least in part, special ranges, which were"),
    };
    let why =
        "left out (private, loopback, link-local, multicast, reserved): `include_special: true` takes them";
    warnings.push(format!("list {name}: {targets} {why}"));
}

/// How many lines were not understood. What they say is for whoever may read the file: `filterd check` shows it, and asks
/// with the rights of its user.
pub fn of_rejected(name: &str, rejected: u64, warnings: &mut Vec<String>) {
    let lines = match rejected {
        0 => return,
        1 => "1 line was".to_owned(),
        count => format!("{count} lines were"),
    };
    warnings.push(format!("list {name}: {lines} not understood, and skipped: `filterd check` shows more"));
}
