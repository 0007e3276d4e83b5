//! What the words of a message must be. Whoever holds the values made of them may use them without looking twice.

use std::time::Duration;

use filter_common::target::{Span, Target};

use super::own::MOST_ENTRIES;
use super::strings::Strings;
use super::{Failure, MOST_ADDRESSES, MOST_TARGETS};
use crate::clock;
use crate::config::ListName;
use crate::text::printable;

/// What one message may name once its ranges have become prefixes; a range makes up to 254 of them.
pub const MOST_PREFIXES: usize = 8 * MOST_TARGETS;

/// The longest time to live: longer than any ban is meant, short enough for any arithmetic on clocks.
pub const LONGEST_TTL: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// The longest that a reload may be on trial.
pub const LONGEST_TRIAL: Duration = Duration::from_secs(24 * 60 * 60);

/// The longest pause: what is to be off for longer belongs into the configuration, where it is seen.
pub const LONGEST_PAUSE: Duration = Duration::from_secs(24 * 60 * 60);

/// The longest note, in bytes.
pub const LONGEST_NOTE: usize = 256;

/// More words than this are not told one by one.
const MOST_TOLD: usize = 10;

/// A range, prefix or address; the error names the word.
pub fn span(word: &str) -> Result<Span, String> {
    word.parse::<Span>()
        .map_err(|error| format!("{} {}: {}", printable::word(word), error.fault(), error.hint()))
}

/// A single address or prefix; the error names the word.
pub fn target(word: &str) -> Result<Target, String> {
    span(word)?;
    let range = |_| format!("{} is a range: write one address or prefix", printable::word(word));
    word.parse().map_err(range)
}

/// Why such a target is blocked only where somebody says that it is meant.
pub fn too_wide(target: &Target) -> Option<String> {
    let shorter = match target {
        Target::V4(_) => "/8",
        Target::V6(_) => "/16",
    };
    target.is_wide().then(|| format!("{target} is wider than a {shorter}"))
}

/// The name of a list; the error names the word.
pub fn list_name(name: &str) -> Result<ListName, String> {
    name.parse().map_err(|error| format!("{}: {error}", printable::word(name)))
}

/// Why something is blocked, in one line.
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

/// A word that may be left out.
pub fn optional<T>(text: Option<String>, check: fn(&str) -> Result<T, String>) -> Result<Option<T>, Failure> {
    text.map(|text| check(&text)).transpose().map_err(|error| Failure::Unparsable(error.into()))
}

/// What a message names, ranges as the prefixes they make.
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

/// What an import names.
pub fn imported(words: &Strings) -> Result<Vec<Target>, Failure> {
    at_most(words, MOST_ENTRIES, "entries")?;
    every(words, target)
}

/// When an entry is to end, in seconds since 1970. What is over by now is no error: it was on its way.
pub fn end(until: u64) -> Result<u64, Failure> {
    // Whoever counted from ten years on has read the clock a little earlier, or later.
    let latest = clock::since_1970() + LONGEST_TTL + Duration::from_secs(60);
    if until <= latest.as_secs() {
        return Ok(until);
    }
    Err(Failure::InvalidRequest(
        format!("an entry that ends at {until}: that is in more than ten years").into(),
    ))
}

/// What a test asks for.
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

/// Checks every word, and tells of all that are wrong at once.
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

/// For how long a reload is to be on trial.
pub fn trial(seconds: u64) -> Result<Duration, Failure> {
    at_most_long("a trial of", seconds, LONGEST_TRIAL, "a day")
}

/// For how long nothing is to be dropped.
pub fn pause(seconds: u64) -> Result<Duration, Failure> {
    at_most_long("a pause of", seconds, LONGEST_PAUSE, "a day")
}

/// How long something is to be blocked.
pub fn ttl(seconds: u64) -> Result<Duration, Failure> {
    at_most_long("a ttl of", seconds, LONGEST_TTL, "ten years")
}

/// How soon something is to end that is asked for; nothing ends later than a ttl may.
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
