//! How long something is blocked, as people write it.

use std::str::FromStr;
use std::time::Duration;

use thiserror::Error;

use crate::control::wire::words::LONGEST_TTL;

/// At least a second, at most ten years.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ttl(Duration);

/// Why a word is no time to live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum TtlError {
    /// It is written otherwise.
    #[error("write seconds, or numbers with w, d, h, m or s: 90, 10m, 2h, 1h30m, 7d")]
    Form,
    /// It is nothing.
    #[error("at least one second; to block permanently leave --ttl out, to unblock use `filterd remove`")]
    Nothing,
    /// It is too much.
    #[error("at most ten years (520w); to block permanently leave --ttl out")]
    TooLong,
}

/// The units, longest first, in seconds.
const UNITS: [(char, u64); 5] = [('w', 604_800), ('d', 86_400), ('h', 3600), ('m', 60), ('s', 1)];

impl Ttl {
    /// As seconds.
    pub fn as_secs(self) -> u64 {
        self.0.as_secs()
    }
}

impl FromStr for Ttl {
    type Err = TtlError;

    fn from_str(word: &str) -> Result<Self, TtlError> {
        let seconds = if is_number(word) { number(word)? } else { sum(word)? };
        match Duration::from_secs(seconds) {
            Duration::ZERO => Err(TtlError::Nothing),
            long if long > LONGEST_TTL => Err(TtlError::TooLong),
            ttl => Ok(Self(ttl)),
        }
    }
}

/// `1h30m`: every unit at most once, the longer before the shorter.
fn sum(word: &str) -> Result<u64, TtlError> {
    let mut units = UNITS.iter();
    let mut seconds = 0_u64;
    let mut rest = word;
    while !rest.is_empty() {
        let end = rest.find(|letter: char| !letter.is_ascii_digit()).ok_or(TtlError::Form)?;
        let (digits, tail) = rest.split_at(end);
        let unit = tail.chars().next().ok_or(TtlError::Form)?;
        let (_, length) = units.find(|(letter, _)| *letter == unit).ok_or(TtlError::Form)?;
        let part = number(digits)?.checked_mul(*length).ok_or(TtlError::TooLong)?;
        seconds = seconds.checked_add(part).ok_or(TtlError::TooLong)?;
        rest = &tail[unit.len_utf8()..];
    }
    if word.is_empty() { Err(TtlError::Form) } else { Ok(seconds) }
}

fn number(digits: &str) -> Result<u64, TtlError> {
    if !is_number(digits) {
        return Err(TtlError::Form);
    }
    digits.parse().map_err(|_| TtlError::TooLong)
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
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
            ("1w2d3h4m5s", 788_645),
            ("520w", 314_496_000),
            ("3650d", 315_360_000),
        ];
        for (word, seconds) in times {
            assert_eq!(word.parse::<Ttl>().map(Ttl::as_secs), Ok(seconds), "{word}");
        }
    }

    #[test]
    fn what_is_no_time_is_told_why() {
        for word in
            ["", "2x", "h", "2h30", "-1", "+1", "1.5h", "1h 30m", "30m1h", "1h1h", "2H", "2ü", "٣s", "0x10"]
        {
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
