//! Parses amounts as people write them: `2h`, `50%`, `10MiB`. It also accepts the formats that filterd
//! prints.

use std::time::Duration;

use thiserror::Error;

/// Why a word is not a valid amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum QuantityError {
    /// The format is wrong.
    #[error("it is written otherwise")]
    Form,
    /// The value does not fit.
    #[error("it is too large")]
    TooLarge,
}

use QuantityError::{Form, TooLarge};

/// Units of time, longest first, in seconds.
const TIMES: [(&[&str], u64); 5] =
    [(&["w"], 604_800), (&["d"], 86_400), (&["h"], 3600), (&["m", "min"], 60), (&["s"], 1)];

/// Units of size, in bytes.
const SIZES: [(&str, u64); 5] =
    [("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40)];

/// Parses `90` (seconds), `10m`, `2 h`, `1h30m`, `1 h 50 min`. Each unit may occur once, longer units first.
pub fn duration(word: &str) -> Result<Duration, QuantityError> {
    match number(word) {
        Err(Form) => {}
        seconds => return seconds.map(Duration::from_secs),
    }
    let mut units = TIMES.iter();
    let (mut seconds, mut rest) = (0_u64, word);
    while !rest.is_empty() {
        let (count, name, after) = amount(rest)?;
        let (_, length) = units.find(|(names, _)| names.contains(&name)).ok_or(Form)?;
        seconds = count.checked_mul(*length).and_then(|part| seconds.checked_add(part)).ok_or(TooLarge)?;
        rest = after;
    }
    if word.is_empty() { Err(Form) } else { Ok(Duration::from_secs(seconds)) }
}

/// Parses `10MiB`, `1.5 GiB`, `4096` (bytes).
pub fn size(word: &str) -> Result<u64, QuantityError> {
    let end = word.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(word.len());
    let (figure, unit) = word.split_at(end);
    let unit = unit.strip_prefix(' ').unwrap_or(unit);
    let name = if unit.is_empty() { "B" } else { unit };
    let (_, bytes) = SIZES.iter().find(|(known, _)| *known == name).ok_or(Form)?;
    let (whole, tenths) = figure.split_once('.').unwrap_or((figure, "0"));
    if tenths.len() != 1 {
        return Err(Form);
    }
    let whole = number(whole)?.checked_mul(*bytes).ok_or(TooLarge)?;
    whole.checked_add(number(tenths)? * bytes / 10).ok_or(TooLarge)
}

/// Parses `50%` as a number from 0 to 100.
pub fn percent(word: &str) -> Result<u8, QuantityError> {
    let figure = word.strip_suffix('%').ok_or(Form)?;
    let percent = number(figure.strip_suffix(' ').unwrap_or(figure))?;
    u8::try_from(percent).ok().filter(|percent| *percent <= 100).ok_or(TooLarge)
}

/// Splits off a number and its unit. One blank is allowed between them, and one after the unit.
fn amount(text: &str) -> Result<(u64, &str, &str), QuantityError> {
    let end = text.find(|letter: char| !letter.is_ascii_digit()).ok_or(Form)?;
    let (figure, tail) = text.split_at(end);
    let tail = tail.strip_prefix(' ').unwrap_or(tail);
    let end = tail.find(|letter: char| !letter.is_ascii_alphabetic()).unwrap_or(tail.len());
    let (name, after) = tail.split_at(end);
    let after = match after.strip_prefix(' ') {
        Some("") => return Err(Form),
        Some(after) => after,
        None => after,
    };
    Ok((number(figure)?, name, after))
}

fn number(digits: &str) -> Result<u64, QuantityError> {
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Form);
    }
    digits.parse().map_err(|_| TooLarge)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn durations_from_people_and_answers_parse() {
        let times = [
            ("90", 90),
            ("90s", 90),
            ("10m", 600),
            ("10min", 600),
            ("10 min", 600),
            ("2h", 7200),
            ("2 h", 7200),
            ("1 h 50 min", 6600),
            ("1h 30m", 5400),
            ("3 d 4 h", 273_600),
            ("1 min 59 s", 119),
            ("1w2d3h4m5s", 788_645),
        ];
        for (word, seconds) in times {
            assert_eq!(duration(word), Ok(Duration::from_secs(seconds)), "{word}");
        }
        for word in [
            "", " ", "2x", "h", "2h30", "-1", "+1", "1.5h", "30m1h", "1h1h", "2H", "2ü", "٣s", "0x10", "2h ",
            "2  h",
        ] {
            assert_eq!(duration(word), Err(Form), "{word}");
        }
        for word in
            ["18446744073709551616s", "18446744073709551615w", "30500568904943w1d99999999999999999999s"]
        {
            assert_eq!(duration(word), Err(TooLarge), "{word}");
        }
    }

    #[test]
    fn sizes_and_shares_are_understood() {
        let sizes =
            [("4096", 4096), ("10MiB", 10 << 20), ("1.5 GiB", 3 << 29), ("2.0 KiB", 2048), ("7 B", 7)];
        for (word, bytes) in sizes {
            assert_eq!(size(word), Ok(bytes), "{word}");
        }
        for word in ["", "MiB", "10MB", "1.25GiB", ".5GiB", "1.GiB", "1,5GiB", "-1"] {
            assert_eq!(size(word), Err(Form), "{word}");
        }
        assert_eq!(size("18446744073709551615KiB"), Err(TooLarge));
        assert_eq!((percent("50%"), percent("0%"), percent("100 %")), (Ok(50), Ok(0), Ok(100)));
        assert_eq!((percent("101%"), percent("50"), percent("%")), (Err(TooLarge), Err(Form), Err(Form)));
    }

    proptest! {
        #[test]
        fn no_words_make_it_panic(word in "[0-9wdhmins.%KMGTiB ]{0,24}") {
            let _ = (duration(&word), size(&word), percent(&word));
        }
    }
}
