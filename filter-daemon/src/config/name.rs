//! The name of a list, as commands, logs and replies show it.

use filter_common::direction::MANUAL_OUT;
use std::fmt;
use std::str::FromStr;

/// A name of 1 to 32 characters from `a-z`, `0-9`, `_` and `-`. A list that another service fills may have twice as
/// many, because its name ends in its ports.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ListName(String);

const LONGEST: usize = 32;
const LONGEST_RESERVED: usize = 2 * LONGEST;

/// The list that holds the configuration's own `block:`.
pub const CONFIG_LIST: &str = "config";

/// The list that holds the configuration's own `allow:`.
pub const CONFIG_ALLOW_LIST: &str = "config-allow";

/// The list that additions use if they do not name one.
pub const MANUAL_LIST: &str = "manual";

/// The list that `allow add` uses if it does not name one.
pub const MANUAL_ALLOW_LIST: &str = "manual-allow";

/// The list that additions of destinations use.
pub const MANUAL_OUT_LIST: &str = MANUAL_OUT;

/// The list of addresses that this host needs, which are never blocked.
pub const GUARD_LIST: &str = "guard";

/// The names of lists that filterd itself provides.
const RESERVED: [&str; 6] =
    [CONFIG_LIST, MANUAL_LIST, CONFIG_ALLOW_LIST, MANUAL_ALLOW_LIST, MANUAL_OUT_LIST, GUARD_LIST];

/// The beginnings of the names of lists that filterd fills from another service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReservedPrefix {
    /// The decisions of CrowdSec, one list for each origin.
    CrowdSec,
    /// What other hosts of a fleet block.
    Fleet,
}

impl ReservedPrefix {
    const ALL: [Self; 2] = [Self::CrowdSec, Self::Fleet];

    /// How such names begin.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::CrowdSec => "crowdsec-",
            Self::Fleet => "fleet-",
        }
    }

    /// The prefix that reserves this name, if it has one.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|prefix| name.starts_with(prefix.as_str()))
    }

    /// The service from which these lists are filled.
    #[must_use]
    pub const fn owner(self) -> &'static str {
        match self {
            Self::CrowdSec => "CrowdSec",
            Self::Fleet => "a fleet",
        }
    }
}

impl fmt::Display for ReservedPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl ListName {
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// True if the name belongs to a list that filterd itself provides, or fills from another service.
    #[must_use]
    pub fn is_reserved(&self) -> bool {
        RESERVED.contains(&self.as_str()) || self.reserved_prefix().is_some()
    }

    /// The prefix that reserves the name, if it has one.
    #[must_use]
    pub fn reserved_prefix(&self) -> Option<ReservedPrefix> {
        ReservedPrefix::of(&self.0)
    }
}

impl FromStr for ListName {
    type Err = ListNameError;

    fn from_str(word: &str) -> Result<Self, ListNameError> {
        if word.is_empty() {
            return Err(ListNameError::Empty);
        }
        if let Some(character) = word.chars().find(|character| !allowed(*character)) {
            return Err(ListNameError::Character { character, instead: instead(word) });
        }
        let longest = if ReservedPrefix::of(word).is_some() { LONGEST_RESERVED } else { LONGEST };
        if word.len() > longest {
            return Err(ListNameError::TooLong);
        }
        Ok(Self(word.into()))
    }
}

impl fmt::Display for ListName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl ListNameError {
    /// The name that was probably meant, or advice.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Character { instead, .. } => format!("did you mean {instead}?"),
            Self::Empty | Self::TooLong => "choose a short name, such as drop".into(),
        }
    }
}

/// The reason why a word is not a valid list name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ListNameError {
    /// There is no word.
    #[error("a list needs a name")]
    Empty,
    /// The name is too long.
    #[error("the name of a list has at most {LONGEST} characters")]
    TooLong,
    /// The word has a character that no name can contain.
    #[error("the name of a list may contain only a-z, 0-9, _ and -, not {character:?}")]
    Character {
        /// The first such character.
        character: char,
        /// A valid name similar to the word.
        instead: String,
    },
}

fn allowed(character: char) -> bool {
    matches!(character, 'a'..='z' | '0'..='9' | '_' | '-')
}

fn instead(word: &str) -> String {
    let lower = word.chars().take(LONGEST).map(|character| character.to_ascii_lowercase());
    lower.map(|character| if allowed(character) { character } else { '-' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_names_are_names() {
        for word in ["drop", "a", "0", "spamhaus_drop-v4", &"x".repeat(32)] {
            assert_eq!(word.parse::<ListName>().unwrap().to_string(), word);
        }
    }

    #[test]
    fn other_words_are_not() {
        assert_eq!("".parse::<ListName>(), Err(ListNameError::Empty));
        assert_eq!("x".repeat(33).parse::<ListName>(), Err(ListNameError::TooLong));
        let refused = "Spamhaus DROP".parse::<ListName>();
        assert_eq!(
            refused,
            Err(ListNameError::Character { character: 'S', instead: "spamhaus-drop".into() })
        );
    }

    #[test]
    fn names_of_builtin_lists_are_reserved() {
        for word in ["config", "manual", "config-allow", "manual-allow", "manual-out", "guard"] {
            assert!(word.parse::<ListName>().unwrap().is_reserved(), "{word}");
        }
        assert!(!"drop".parse::<ListName>().unwrap().is_reserved());
    }

    #[test]
    fn prefixes_of_other_services_are_reserved() {
        for (word, prefix) in [
            ("crowdsec-capi", Some(ReservedPrefix::CrowdSec)),
            ("fleet-", Some(ReservedPrefix::Fleet)),
            ("crowdsec", None),
            ("my-crowdsec-list", None),
            ("fleet", None),
        ] {
            let name: ListName = word.parse().unwrap();
            assert_eq!((name.reserved_prefix(), name.is_reserved()), (prefix, prefix.is_some()), "{word}");
        }
    }
}
