//! Checks the words of a message. The values made here need no further checks.

use std::time::Duration;

use filter_common::target::{Span, Target};

use super::own::MOST_ENTRIES;
use super::strings::Strings;
use super::{Failure, MOST_ADDRESSES, MOST_TARGETS};
use crate::clock;
use crate::config::ListName;
use crate::text::printable;

/// The most prefixes of one message, once ranges are split. A range makes up to 254 of them.
pub const MOST_PREFIXES: usize = 8 * MOST_TARGETS;

/// The longest time to live: longer than any ban needs, and short enough for any arithmetic on clocks.
pub const LONGEST_TTL: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// The longest trial of a reload.
pub const LONGEST_TRIAL: Duration = Duration::from_secs(24 * 60 * 60);

/// The longest pause. A longer one belongs in the configuration, where it is seen.
pub const LONGEST_PAUSE: Duration = Duration::from_secs(24 * 60 * 60);

/// The longest note, in bytes.
pub const LONGEST_NOTE: usize = 256;

/// The most invalid words that an error names.
const MOST_TOLD: usize = 10;

/// Reads a range, prefix or address; the error names the word.
pub fn span(word: &str) -> Result<Span, String> {
    word.parse::<Span>()
        .map_err(|error| format!("{} {}: {}", printable::word(word), error.fault(), error.hint()))
}

/// Reads a single address or prefix; the error names the word.
pub fn target(word: &str) -> Result<Target, String> {
    span(word)?;
    let range = |_| format!("{} is a range: write one address or prefix", printable::word(word));
    word.parse().map_err(range)
}

/// Returns why such a target needs a confirmation by the user.
pub fn too_wide(target: &Target) -> Option<String> {
    let shorter = match target {
        Target::V4(_) => "/8",
        Target::V6(_) => "/16",
    };
    target.is_wide().then(|| format!("{target} is wider than a {shorter}"))
}

/// Reads the name of a list; the error names the word.
pub fn list_name(name: &str) -> Result<ListName, String> {
    name.parse().map_err(|error| format!("{}: {error}", printable::word(name)))
}

/// Checks a note: it is one line.
pub fn note(text: &str) -> Result<String, String> {
    if text.len() > LONGEST_NOTE {
        return Err(format!("the note has {} bytes: write at most {LONGEST_NOTE}", text.len()));
    }
    if text.chars().any(printable::is_unseen) {
        return Err(format!(
            "the note {} contains a control character: write one plain line",
            printable::word(text)
        ));
    }
    Ok(text.to_owned())
}

/// Checks a word that may be missing.
pub fn optional<T>(text: Option<String>, check: fn(&str) -> Result<T, String>) -> Result<Option<T>, Failure> {
    text.map(|text| check(&text)).transpose().map_err(|error| Failure::Unparsable(error.into()))
}

/// Reads the targets of a message, and splits ranges into prefixes.
pub fn targets(words: &Strings) -> Result<Vec<Target>, Failure> {
    at_most(words, MOST_TARGETS, "targets")?;
    let spans = every(words, span)?;
    let mut targets = Vec::with_capacity(spans.len());
    for span in spans {
        targets.extend(span);
        if targets.len() > MOST_PREFIXES {
            return Err(Failure::InvalidRequest(
                format!("the ranges expand to more than {MOST_PREFIXES} prefixes: send fewer in one message")
                    .into(),
            ));
        }
    }
    Ok(targets)
}

/// Reads the targets of an import.
pub fn imported(words: &Strings) -> Result<Vec<Target>, Failure> {
    at_most(words, MOST_ENTRIES, "entries")?;
    every(words, target)
}

/// Checks the end of an entry, in seconds since 1970. An end in the past is no error: it may have passed on the way.
pub fn end(until: u64) -> Result<u64, Failure> {
    // The client may have read the clock a little earlier or later.
    let latest = clock::since_1970() + LONGEST_TTL + Duration::from_secs(60);
    if until <= latest.as_secs() {
        return Ok(until);
    }
    Err(Failure::InvalidRequest(
        format!("an entry that ends at {until}: that is in more than ten years").into(),
    ))
}

/// Reads the addresses of a test.
pub fn tested(words: &Strings) -> Result<Vec<Target>, Failure> {
    at_most(words, MOST_ADDRESSES, "addresses")?;
    every(words, target)
}

fn at_most(words: &Strings, most: usize, what: &str) -> Result<(), Failure> {
    if words.len() <= most {
        return Ok(());
    }
    let message = format!("{} {what} in one message: send at most {most}", words.len());
    Err(Failure::InvalidRequest(message.into()))
}

/// Checks every word, and reports all invalid words at once.
fn every<T>(words: &Strings, check: fn(&str) -> Result<T, String>) -> Result<Vec<T>, Failure> {
    let mut good = Vec::with_capacity(words.len());
    let mut told = Vec::new();
    let mut bad = 0;
    for word in words.iter() {
        match check(word) {
            Ok(value) => good.push(value),
            Err(error) if bad < MOST_TOLD => {
                told.push(error);
                bad += 1;
            }
            Err(_) => bad += 1,
        }
    }
    if bad == 0 {
        return Ok(good);
    }
    if bad > told.len() {
        told.push(format!("and {} more", bad - told.len()));
    }
    Err(Failure::Unparsable(told.join("\n").into()))
}

/// Checks the length of a trial.
pub fn trial(seconds: u64) -> Result<Duration, Failure> {
    at_most_long("a trial of", seconds, LONGEST_TRIAL, "a day")
}

/// Checks the length of a pause.
pub fn pause(seconds: u64) -> Result<Duration, Failure> {
    at_most_long("a pause of", seconds, LONGEST_PAUSE, "a day")
}

/// Checks a time to live.
pub fn ttl(seconds: u64) -> Result<Duration, Failure> {
    at_most_long("a ttl of", seconds, LONGEST_TTL, "ten years")
}

/// Checks the time for entries that expire soon; no entry ends later than a time to live may.
pub fn expiring(seconds: u64) -> Result<Duration, Failure> {
    at_most_long("expiring within", seconds, LONGEST_TTL, "ten years")
}

fn at_most_long(what: &str, seconds: u64, longest: Duration, told: &str) -> Result<Duration, Failure> {
    if (1..=longest.as_secs()).contains(&seconds) {
        return Ok(Duration::from_secs(seconds));
    }
    let most = longest.as_secs();
    let message = format!("{what} {seconds} seconds: it must be at least 1 and at most {most} ({told})");
    Err(Failure::InvalidRequest(message.into()))
}
