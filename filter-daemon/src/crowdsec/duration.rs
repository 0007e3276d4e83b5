//! Go's text form of a duration, in which LAPI sends how long a decision lasts.

/// The units of Go in nanoseconds. A longer name stands before its own beginning.
const UNITS: [(&str, i128); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", SECOND),
    ("m", 60 * SECOND),
    ("h", 3_600 * SECOND),
];

const SECOND: i128 = 1_000_000_000;

/// More digits of a fraction than this do not change a nanosecond.
const FRACTION_DIGITS: usize = 18;

/// Parses `1h59m59.268s`, `-1.011s` or `0` as seconds. Parts of a second count as a whole one, towards later.
/// Too large durations become the largest one.
#[must_use]
pub fn seconds(text: &str) -> Option<i64> {
    let (is_negative, parts) = match text.strip_prefix(['-', '+']) {
        Some(parts) => (text.starts_with('-'), parts),
        None => (false, text),
    };
    let nanoseconds = if parts == "0" { 0 } else { sum(parts)? };
    let seconds = match is_negative {
        true => -(nanoseconds / SECOND),
        false => nanoseconds.saturating_add(SECOND - 1) / SECOND,
    };
    Some(i64::try_from(seconds).unwrap_or(if is_negative { i64::MIN } else { i64::MAX }))
}

/// The sum of at least one number with a unit.
fn sum(mut parts: &str) -> Option<i128> {
    let mut nanoseconds = 0_i128;
    loop {
        let (part, rest) = first_part(parts)?;
        nanoseconds = nanoseconds.saturating_add(part);
        if rest.is_empty() {
            return Some(nanoseconds);
        }
        parts = rest;
    }
}

fn first_part(text: &str) -> Option<(i128, &str)> {
    let (whole, rest) = digits(text);
    let (fraction, rest) = rest.strip_prefix('.').map_or(("", rest), digits);
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let (name, unit) = UNITS.iter().find(|(name, _)| is_unit(rest, name))?;
    let rest = &rest[name.len()..];
    let fraction = &fraction[..fraction.len().min(FRACTION_DIGITS)];
    let part = number(fraction) * unit / 10_i128.pow(fraction.len() as u32);
    Some((number(whole).saturating_mul(*unit).saturating_add(part), rest))
}

/// Whether the text begins with this unit, and with no longer word.
fn is_unit(text: &str, name: &str) -> bool {
    let rest = text.strip_prefix(name);
    rest.is_some_and(|rest| {
        rest.is_empty() || rest.starts_with(|next: char| next.is_ascii_digit() || next == '.')
    })
}

fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len()))
}

/// The value of digits, of which there may be none or too many.
fn number(digits: &str) -> i128 {
    if digits.is_empty() { 0 } else { digits.parse().unwrap_or(i128::MAX) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_of_go_are_read() {
        for (text, expected) in [
            ("4h0m0s", 14_400),
            ("1h59m59.268s", 7_200),
            ("1h59m59s", 7_199),
            ("167h59m59.999999999s", 604_800),
            ("300ms", 1),
            ("1.5h", 5_400),
            ("1µs", 1),
            ("1μs", 1),
            ("1us", 1),
            ("1ns", 1),
            ("0", 0),
            ("0s", 0),
            ("+5s", 5),
            ("5.s", 5),
            (".5m", 30),
            ("1m1m", 120),
            ("0.000000000000000000000000000000000001h", 0),
        ] {
            assert_eq!(seconds(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn negative_durations_round_towards_later() {
        for (text, expected) in [("-1.011s", -1), ("-1s", -1), ("-999ms", 0), ("-0", 0), ("-1h0.5s", -3_600)]
        {
            assert_eq!(seconds(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn huge_durations_become_the_largest() {
        let digits = "9".repeat(100);
        assert_eq!(seconds(&format!("{digits}h")), Some(i64::MAX));
        assert_eq!(seconds(&format!("-{digits}h{digits}h")), Some(i64::MIN));
        assert_eq!(seconds("9999999999999h"), Some(35_999_999_999_996_400));
        assert_eq!(seconds(&format!("0.{digits}s")), Some(1));
    }

    #[test]
    fn other_texts_are_no_duration() {
        for text in [
            "", "-", "+", "5", "-5", "00", "h", ".s", ".", "1x", "1 h", " 1h", "1h ", "1d", "1H", "--1s",
            "1e3s", "1mm", "1.2.3s", "٣s", "1h-1s",
        ] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }
}
