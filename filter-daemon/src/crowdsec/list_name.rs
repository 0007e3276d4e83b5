//! The list that holds the decisions of one origin.
//!
//! Different origins have different lists, also those of different LAPIs. Known origins keep a readable name.
//! A name that could be misread for another one ends in a hash.

use std::sync::Arc;

use crate::blocklist::split;
use crate::config::name::ReservedPrefix;
use crate::config::{MAIN_LAPI as MAIN, ORIGIN_WORDS};

/// The beginning of the name of each list with decisions.
pub const PREFIX: &str = ReservedPrefix::CrowdSec.as_str();

/// The most characters of a list name.
const LONGEST: usize = 32;

/// The hexadecimal digits of a hash.
const DIGITS: usize = 8;

/// The list for decisions with this origin, from the LAPI that is named `source`.
#[must_use]
pub fn list_of(source: &str, origin: &str) -> Arc<str> {
    exact(source, origin).unwrap_or_else(|| hashed(source, origin)).into()
}

/// A hash that is the same in each version of filterd, because lists outlive it (FNV-1a, folded).
pub(super) fn digest(text: &str) -> u32 {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash ^ hash >> 32) as u32
}

/// The name without a hash, unless another origin could have it.
fn exact(source: &str, origin: &str) -> Option<String> {
    let word = match origin {
        "CAPI" => "capi".to_owned(),
        "capi" => return None,
        _ => match origin.strip_prefix("lists:") {
            Some(name) => format!("lists-{name}"),
            None if origin.starts_with("lists-") => return None,
            None => origin.to_owned(),
        },
    };
    let name = if source == MAIN { format!("{PREFIX}{word}") } else { format!("{PREFIX}{source}-{word}") };
    let is_plain = !word.is_empty() && name.len() <= LONGEST && name.chars().all(is_allowed);
    let has_no_ports = split(&name).1.is_none();
    (is_plain && has_no_ports && !is_hashed(&name) && is_unambiguous(source, &word)).then_some(name)
}

/// Whether the name can be split again in one way only: the first word of an origin begins the origin.
fn is_unambiguous(source: &str, word: &str) -> bool {
    let first = |text: &str| text.split('-').position(|part| ORIGIN_WORDS.contains(&part));
    match (source == MAIN, first(word)) {
        (true, found) => matches!(found, None | Some(0)),
        (false, found) => found == Some(0) && first(source).is_none(),
    }
}

fn hashed(source: &str, origin: &str) -> String {
    let source_part = if source == MAIN { String::new() } else { format!("{source}-") };
    let whole = format!("{PREFIX}{source_part}{}", origin.replace("lists:", "lists-").to_lowercase());
    let slug = whole.chars().take(LONGEST - DIGITS - 1);
    let slug: String = slug.map(|letter| if is_allowed(letter) { letter } else { '-' }).collect();
    format!("{}-{:08x}", slug.trim_end_matches('-'), digest(&format!("{source}\0{origin}")))
}

/// Whether a name looks as if it ended in a hash.
fn is_hashed(name: &str) -> bool {
    let end = name.rsplit('-').next().unwrap_or_default();
    end.len() == DIGITS && end.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
}

fn is_allowed(letter: char) -> bool {
    matches!(letter, 'a'..='z' | '0'..='9' | '_' | '-')
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::config::ListName;

    #[test]
    fn known_origins_have_plain_names() {
        for (source, origin, expected) in [
            ("main", "CAPI", "crowdsec-capi"),
            ("main", "cscli", "crowdsec-cscli"),
            ("main", "cscli-import", "crowdsec-cscli-import"),
            ("main", "crowdsec", "crowdsec-crowdsec"),
            ("main", "lists:tor", "crowdsec-lists-tor"),
            ("main", "lists:firehol_greensnow", "crowdsec-lists-firehol_greensnow"),
            ("main", "my-script", "crowdsec-my-script"),
            ("dmz", "CAPI", "crowdsec-dmz-capi"),
            ("dmz", "lists:tor", "crowdsec-dmz-lists-tor"),
        ] {
            assert_eq!(&*list_of(source, origin), expected, "{source} {origin}");
        }
    }

    #[test]
    fn other_origins_end_in_a_hash() {
        for (source, origin, beginning) in [
            ("main", "lists:FireHOL", "crowdsec-lists-firehol-"),
            ("main", "lists:firehol_cruzit_web_attacks", "crowdsec-lists-firehol_-"),
            ("main", "capi", "crowdsec-capi-"),
            ("main", "lists-tor", "crowdsec-lists-tor-"),
            ("main", "", "crowdsec-"),
            ("main", "日本", "crowdsec-"),
            ("main", "x-12345678", "crowdsec-x-12345678-"),
            ("main", "x-only-22", "crowdsec-x-only-22-"),
            ("twelve-chars", "CAPI", "crowdsec-twelve-chars-capi"),
            ("twelve-chars", "lists:firehol", "crowdsec-twelve-chars-l-"),
            ("a-lists", "CAPI", "crowdsec-a-lists-capi-"),
            ("my", "script", "crowdsec-my-script-"),
        ] {
            let name = list_of(source, origin);
            assert!(name.starts_with(beginning), "{name} for {source} {origin}");
            assert_eq!(is_hashed(&name), beginning.ends_with('-'), "{name}");
        }
        assert_eq!(&*list_of("main", "lists:FireHOL"), "crowdsec-lists-firehol-686a2c41");
    }

    #[test]
    fn different_origins_never_share_a_list() {
        let words = [
            "",
            "CAPI",
            "capi",
            "cscli",
            "cscli-import",
            "import",
            "crowdsec",
            "console",
            "lists",
            "lists:",
            "lists:capi",
            "lists-capi",
            "lists:CAPI",
            "lists:x-capi",
            "x-capi",
            "x-lists-capi",
            "capi-capi",
            "lists-x-capi",
            "a-capi",
            "lists:a",
            "lists:lists:a",
            "lists:lists-a",
            "lists-lists-a",
            "é",
            "è",
            "A",
            "a",
            "a b",
            "a_b",
            "a-b",
            "a-",
            "-a",
            "crowdsec-lists-firehol-686a2c41",
            "lists-firehol-686a2c41",
        ];
        let long = ["x".repeat(40), "x".repeat(41), format!("lists:{}", "x".repeat(40)), "X".repeat(40)];
        let sources =
            ["main", "a", "b", "x", "a-b", "a-capi", "lists-x", "x-lists", "a-lists", "abcdefghijkl"];
        let mut names = HashMap::new();
        for source in sources {
            for origin in words.iter().copied().chain(long.iter().map(String::as_str)) {
                let name = list_of(source, origin);
                assert!(name.starts_with(PREFIX) && name.parse::<ListName>().is_ok(), "{name}");
                let before = names.insert(name.clone(), (source, origin));
                assert_eq!(before, None, "{name} is also that of {source} {origin}");
            }
        }
    }
}
