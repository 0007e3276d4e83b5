//! Names the sets of a list where a set has one family and a short name, and finds the list of a name.

use std::fmt::Write;

use crate::config::ListName;
use crate::source::format::allowing::EXPORTED;

/// The name of the set for one family, of at most `most` bytes.
pub fn of(list: &str, allow: bool, family: u8, most: usize) -> String {
    let end = format!("{}_{family}", if allow { EXPORTED } else { "" });
    let room = most - end.len();
    if list.len() <= room {
        return format!("{list}{end}");
    }
    // The checksum keeps two long names with the same beginning apart.
    let mut short = list[..room - 9].to_owned();
    let _ = write!(short, ".{:08x}", checksum(list));
    short + &end
}

/// The FNV-1a hash, used only to make names differ.
fn checksum(word: &str) -> u32 {
    word.bytes().fold(0x811c_9dc5, |sum, byte| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// The list for a set of this name, and whether it allows. A set that others made may have any name.
pub fn list(set: &str) -> Option<(ListName, bool)> {
    let base = set.strip_suffix("_4").or_else(|| set.strip_suffix("_6")).unwrap_or(set);
    let (base, allow) = base.strip_suffix(EXPORTED).map_or((base, false), |base| (base, true));
    let plain = |character: char| match character.to_ascii_lowercase() {
        fine @ ('a'..='z' | '0'..='9' | '_' | '-') => fine,
        _ => '-',
    };
    let name: String = base.chars().map(plain).take(32).collect();
    Some((name.parse().ok()?, allow))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_is_recovered_from_its_set_name() {
        for (name, allow) in [("ssh", false), ("a_4", false), ("-x", true), ("manual-allow", true)] {
            for family in [4, 6] {
                let set = of(name, allow, family, 31);
                assert_eq!(list(&set), Some((name.parse().unwrap(), allow)), "{set}");
            }
        }
        assert_eq!(list("CrowdSec blocks").map(|(list, _)| list.to_string()), Some("crowdsec-blocks".into()));
    }

    #[test]
    fn long_names_stay_apart_and_short_enough() {
        let names = ["a", "b"].map(|end| format!("{}{end}", "x".repeat(31)));
        let sets = names.map(|name| of(&name, true, 6, 31));
        assert!(sets[0] != sets[1] && sets.iter().all(|set| set.len() <= 31), "{sets:?}");
    }
}
