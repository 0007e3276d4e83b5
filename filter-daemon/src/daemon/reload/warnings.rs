//! Warnings for the operator about lists that were accepted.

use crate::blocklist::{ListInfo, Polarity, Targets};
use crate::config::name::{CONFIG_ALLOW_LIST, CONFIG_LIST};
use crate::source::{well_known, wide};

/// Warnings about the contents of one list.
pub fn of_contents(list: &ListInfo, targets: &Targets, warnings: &mut Vec<String>) {
    if list.polarity == Polarity::Allow {
        let is_inline = *list.name == *CONFIG_ALLOW_LIST;
        return warnings.extend(wide::allowed(targets.others.iter().filter(|_| is_inline)));
    }
    if *list.name == *CONFIG_LIST {
        warnings.extend(wide::blocked(&targets.others));
    }
    of_well_known(&list.name, targets, warnings);
}

/// Warnings about resolvers and networks that many hosts need.
fn of_well_known(name: &str, targets: &Targets, warnings: &mut Vec<String>) {
    let what = if name == CONFIG_LIST { "`block:`".to_owned() } else { format!("list \"{name}\"") };
    warnings.extend(well_known::told(&what, targets));
}

/// Special ranges are left out because blocking private ranges would cut a host off from its own network.
pub fn of_special(name: &str, special: u64, warnings: &mut Vec<String>) {
    let targets = match special {
        0 => return,
        1 => "1 special range or part of one was".to_owned(),
        count => format!("{count} special ranges or parts of them were"),
    };
    let why = "left out (private, loopback, link-local, multicast, reserved); to block them: `include_special: true`";
    warnings.push(format!("list \"{name}\": {targets} {why}"));
}

/// The number of lines that were not understood. Their text is only for users who may read the file: `filterd
/// check` shows it with its user's rights.
pub fn of_rejected(name: &str, rejected: u64, warnings: &mut Vec<String>) {
    let lines = match rejected {
        0 => return,
        1 => "1 line was".to_owned(),
        count => format!("{count} lines were"),
    };
    warnings.push(format!("list \"{name}\": {lines} not understood; to see them: filterd check"));
}

/// The parts of a folder that do not belong to its list.
pub fn of_left_out(name: &str, left_out: &[String], warnings: &mut Vec<String>) {
    if !left_out.is_empty() {
        let names = left_out.join(", ");
        warnings
            .push(format!("list \"{name}\": hidden files, folders and backup files were not read: {names}"));
    }
}
