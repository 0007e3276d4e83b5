//! Describes remarkable facts about a list that is as its file says.

use super::figure::{count, counted};

/// Describes the lines of the file that are not on the list.
pub fn of(rejected: u64, special: u64, expired: u64) -> Vec<String> {
    let expired = (expired > 0).then(|| format!("{} expired", count(expired)));
    let rejected = match rejected {
        0 => None,
        1 => Some("1 line was not understood".to_owned()),
        lines => Some(format!("{} lines were not understood", count(lines))),
    };
    let special =
        (special > 0).then(|| format!("special ranges in {}, left out", counted(special, "target")));
    expired.into_iter().chain(rejected).chain(special).collect()
}
