//! The time to live of an entry, as users write it.

use std::str::FromStr;
use std::time::Duration;

use thiserror::Error;

use crate::control::wire::words::LONGEST_TTL;
use crate::text::quantity::{self, QuantityError};

/// A time to live from one second to ten years.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ttl(Duration);

/// Why a word is not a valid time to live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum TtlError {
    /// The word has another form.
    #[error("write seconds, or numbers with w, d, h, m or s: 90, 10m, 2h, 1h30m, 7d")]
    Form,
    /// The time is zero.
    #[error("at least one second; leave out --ttl for a permanent entry; to end an entry, remove it")]
    Nothing,
    /// The time is longer than ten years.
    #[error("at most ten years (520w); leave out --ttl for a permanent entry")]
    TooLong,
}

impl Ttl {
    pub fn as_secs(self) -> u64 {
        self.0.as_secs()
    }
}

impl FromStr for Ttl {
    type Err = TtlError;

    fn from_str(word: &str) -> Result<Self, TtlError> {
        match quantity::duration(word) {
            Ok(Duration::ZERO) => Err(TtlError::Nothing),
            Ok(long) if long > LONGEST_TTL => Err(TtlError::TooLong),
            Ok(ttl) => Ok(Self(ttl)),
            Err(QuantityError::Form) => Err(TtlError::Form),
            Err(QuantityError::TooLarge) => Err(TtlError::TooLong),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_understood_as_people_write_them() {
        let times = [
            ("90", 90),
            ("90s", 90),
            ("10m", 600),
            ("2h", 7200),
            ("7d", 604_800),
            ("1w", 604_800),
            ("1h30m", 5400),
            ("10min", 600),
            ("2 h", 7200),
            ("1w2d3h4m5s", 788_645),
            ("520w", 314_496_000),
            ("3650d", 315_360_000),
        ];
        for (word, seconds) in times {
            assert_eq!(word.parse::<Ttl>().map(Ttl::as_secs), Ok(seconds), "{word}");
        }
    }

    #[test]
    fn invalid_ttl_is_reported_with_cause() {
        for word in ["", "2x", "h", "2h30", "-1", "+1", "1.5h", "30m1h", "1h1h", "2H", "2ü", "٣s", "0x10"] {
            assert_eq!(word.parse::<Ttl>(), Err(TtlError::Form), "{word}");
        }
        for word in ["0", "0s", "0h0m", "000"] {
            assert_eq!(word.parse::<Ttl>(), Err(TtlError::Nothing), "{word}");
        }
        for word in
            ["11w3600d", "3651d", "99999999999999999999", "18446744073709551615w", "9999999999999999999h"]
        {
            assert_eq!(word.parse::<Ttl>(), Err(TtlError::TooLong), "{word}");
        }
    }
}
