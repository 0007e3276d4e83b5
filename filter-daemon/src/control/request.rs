//! A request that has been checked: whoever holds one may carry it out without looking twice.

use std::net::IpAddr;
use std::time::Duration;

use filter_common::target::{Span, Target};

use super::quote;
use super::strings::Strings;
use super::wire::{self, Failure, MOST_ADDRESSES, MOST_TARGETS};
use crate::config::ListName;

/// What one message may name once its ranges have become prefixes; a range makes up to 254 of them.
pub const MOST_PREFIXES: usize = 8 * MOST_TARGETS;

/// The longest time to live: longer than any ban is meant, short enough for any arithmetic on clocks.
pub const LONGEST_TTL: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// The longest note, in bytes.
pub const LONGEST_NOTE: usize = 256;

/// How many entries one page of a list is asked for.
pub const PAGE: usize = 4096;

/// More words than this are not told one by one.
const MOST_TOLD: usize = 10;

/// What the daemon's owner of state is asked to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// Block these targets.
    Add {
        /// What to block; may name a target twice.
        targets: Vec<Target>,
        /// The live list they go to; the default one if none.
        list: Option<String>,
        /// How long; for good if none.
        ttl: Option<Duration>,
        /// Why.
        note: Option<String>,
    },
    /// Block them no longer.
    Remove {
        /// What to let go of; may name a target twice.
        targets: Vec<Target>,
        /// Only out of this live list; out of every live list if none.
        list: Option<String>,
    },
    /// Are these dropped, and why?
    Test {
        /// Single addresses, none of them IPv4-mapped.
        addresses: Vec<IpAddr>,
    },
    /// The entries of the next targets, in ascending order of target, all entries of a target together:
    /// as few targets as make at least `most` entries, or all that are left.
    List {
        /// Only what this list wants.
        list: Option<String>,
        /// Only this family.
        family: Option<Family>,
        /// Only targets that sort after this one; from the first if none.
        after: Option<Target>,
        /// How many entries make a page. An answer with fewer is the last.
        most: usize,
    },
    /// Let go of what was added live.
    Flush {
        /// Only this live list; every live list if none.
        list: Option<String>,
    },
    /// What the daemon is and how full its tables are.
    Status,
    /// How many packets met which fate.
    Stats,
    /// Read the configuration again.
    Reload,
    /// Is anybody there?
    Ping,
    /// End, and leave the filter to another filterd.
    HandOver,
}

/// A family of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// IPv4.
    Four,
    /// IPv6.
    Six,
}

impl TryFrom<wire::Request> for Request {
    type Error = Failure;

    fn try_from(raw: wire::Request) -> Result<Self, Failure> {
        Ok(match raw {
            wire::Request::Add(add) => Self::Add {
                targets: targets(&add.targets)?,
                list: checked(add.list, list_name)?,
                ttl: add.ttl.map(ttl).transpose()?,
                note: checked(add.note, note)?,
            },
            wire::Request::Remove(remove) => {
                Self::Remove { targets: targets(&remove.targets)?, list: checked(remove.list, list_name)? }
            }
            wire::Request::Test(test) => Self::Test { addresses: addresses(&test.addresses)? },
            wire::Request::List(list) => Self::List {
                list: checked(list.list, list_name)?,
                family: list.family.map(family).transpose()?,
                after: None,
                most: PAGE,
            },
            wire::Request::Flush(flush) => Self::Flush { list: checked(flush.list, list_name)? },
            wire::Request::Status(_) => Self::Status,
            wire::Request::Stats(_) => Self::Stats,
            wire::Request::Reload(_) => Self::Reload,
            wire::Request::Ping(_) => Self::Ping,
            wire::Request::HandOver(_) => Self::HandOver,
        })
    }
}

/// A range, prefix or address; the error names the word.
pub fn span(word: &str) -> Result<Span, String> {
    word.parse::<Span>().map_err(|error| format!("{} {}: {}", quote::word(word), error.fault(), error.hint()))
}

/// A single address as packets carry it; the error names the word.
pub fn address(word: &str) -> Result<IpAddr, String> {
    span(word)?;
    word.parse().map_err(|_| {
        format!("{} names more than one address: test them one by one, as in 192.0.2.1", quote::word(word))
    })
}

/// The name of a list; the error names the word.
pub fn list_name(name: &str) -> Result<String, String> {
    let checked = name.parse::<ListName>().map_err(|error| format!("{}: {error}", quote::word(name)))?;
    Ok(checked.to_string())
}

/// Why something is blocked, in one line.
pub fn note(text: &str) -> Result<String, String> {
    if text.len() > LONGEST_NOTE {
        return Err(format!("the note has {} bytes: write at most {LONGEST_NOTE}", text.len()));
    }
    if text.chars().any(char::is_control) {
        return Err(format!("the note {} has a control character: write one plain line", quote::word(text)));
    }
    Ok(text.to_owned())
}

fn checked(
    text: Option<String>,
    check: fn(&str) -> Result<String, String>,
) -> Result<Option<String>, Failure> {
    text.map(|text| check(&text)).transpose().map_err(|error| Failure::Unparsable(error.into()))
}

fn targets(words: &Strings) -> Result<Vec<Target>, Failure> {
    at_most(words, MOST_TARGETS, "targets")?;
    let spans = every(words, span)?;
    let mut targets = Vec::with_capacity(spans.len());
    for span in spans {
        targets.extend(span);
        if targets.len() > MOST_PREFIXES {
            return Err(Failure::InvalidRequest(
                format!("the ranges make more than {MOST_PREFIXES} prefixes: send fewer in one message")
                    .into(),
            ));
        }
    }
    Ok(targets)
}

fn addresses(words: &Strings) -> Result<Vec<IpAddr>, Failure> {
    at_most(words, MOST_ADDRESSES, "addresses")?;
    every(words, address)
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

fn ttl(seconds: u64) -> Result<Duration, Failure> {
    if (1..=LONGEST_TTL.as_secs()).contains(&seconds) {
        return Ok(Duration::from_secs(seconds));
    }
    let message = format!(
        "a ttl of {seconds} seconds: it must be at least 1 and at most {} (ten years)",
        LONGEST_TTL.as_secs()
    );
    Err(Failure::InvalidRequest(message.into()))
}

fn family(number: u8) -> Result<Family, Failure> {
    match number {
        4 => Ok(Family::Four),
        6 => Ok(Family::Six),
        _ => Err(Failure::InvalidRequest(format!("family {number}: there are 4 and 6").into())),
    }
}

#[cfg(test)]
mod tests;
