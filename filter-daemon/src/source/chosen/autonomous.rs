//! The number of an autonomous system, as in `AS64500`.

use std::fmt;
use std::str::FromStr;

/// The number of a network that announces prefixes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Autonomous(u32);

impl Autonomous {
    /// Makes a number, which must not be zero.
    #[must_use]
    pub fn new(number: u64) -> Option<Self> {
        u32::try_from(number).ok().filter(|number| *number > 0).map(Self)
    }
}

/// Parses `AS64500` in any case, or the number alone.
impl FromStr for Autonomous {
    type Err = NoAutonomous;

    fn from_str(word: &str) -> Result<Self, NoAutonomous> {
        let prefix = word.get(..2).filter(|prefix| prefix.eq_ignore_ascii_case("as"));
        let digits = prefix.map_or(word, |prefix| &word[prefix.len()..]);
        let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
        let number = is_number.then(|| digits.parse().ok()).flatten();
        number.and_then(Self::new).ok_or(NoAutonomous)
    }
}

impl fmt::Display for Autonomous {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AS{}", self.0)
    }
}

/// The error for a word that is not such a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is no number of an autonomous system")]
pub struct NoAutonomous;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_prefix_is_optional() {
        for word in ["AS64500", "as64500", "64500", "AS064500"] {
            assert_eq!(word.parse::<Autonomous>().unwrap().to_string(), "AS64500", "{word}");
        }
        assert!("4294967295".parse::<Autonomous>().is_ok());
    }

    #[test]
    fn other_words_are_no_number() {
        for word in ["", "AS", "AS0", "0", "-1", "+1", "AS1.10", "ASN1", "4294967296", "é1", "A"] {
            assert_eq!(word.parse::<Autonomous>(), Err(NoAutonomous), "{word}");
        }
    }
}
