//! How much a list may change: `50%`, and a number of targets; and how long what it names stays.

use std::time::Duration;

use super::AS_GIVEN;
use super::raw::{Node, Value};
use super::shape::{Faults, kind};
use crate::text::printable::excerpt;
use crate::text::quantity;

/// More targets than any table holds.
const MOST_ENTRIES: u64 = 1_000_000_000;

/// As for what commands add.
const SHORTEST_TTL: Duration = Duration::from_secs(1);
const LONGEST_TTL: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// `50%`, from 0 to 100.
pub fn share(faults: &mut Faults, node: Node, subject: &str, into: &mut u8) {
    let (message, help) = match &node.value {
        Value::Text(word) => match quantity::percent(word) {
            Ok(percent) => {
                *into = percent;
                return;
            }
            Err(_) => (format!("{subject} cannot be `{}`", excerpt(word)), "write 0% to 100%".to_owned()),
        },
        Value::Number(Some(percent @ 0..=100)) => {
            (format!("{subject} is a share"), format!("did you mean {percent}%?"))
        }
        Value::Nothing
        | Value::Bool(_)
        | Value::Number(_)
        | Value::List(_)
        | Value::Map(_)
        | Value::Tagged => {
            (format!("{subject} is a share, not {}", kind(&node.value)), "write it as in 50%".to_owned())
        }
    };
    faults.tell(node.number, message, help);
}

/// `5000000`; with commas, underscores or blanks between the digits, as people write large numbers, it is text to YAML.
pub fn entries(faults: &mut Faults, node: Node, subject: &str, least: u64, into: &mut u64) {
    let number = match &node.value {
        Value::Number(number) => *number,
        Value::Text(word) => grouped(word),
        Value::Nothing | Value::Bool(_) | Value::List(_) | Value::Map(_) | Value::Tagged => None,
    };
    match number {
        Some(number) if (least..=MOST_ENTRIES).contains(&number) => *into = number,
        _ => {
            let message = format!("{subject} is a number of targets, not {}", said(&node.value));
            let help = format!("write {least} to {MOST_ENTRIES}, as in 5000000");
            faults.tell(node.number, message, help);
        }
    }
}

/// `7d`, `12h`, `90` (seconds).
pub fn ttl(faults: &mut Faults, node: Node, into: &mut Option<Duration>) {
    let time = match &node.value {
        Value::Number(Some(seconds)) => Some(Duration::from_secs(*seconds)),
        Value::Text(word) => quantity::duration(word).ok(),
        Value::Nothing
        | Value::Bool(_)
        | Value::Number(None)
        | Value::List(_)
        | Value::Map(_)
        | Value::Tagged => None,
    };
    match time {
        Some(time) if time >= SHORTEST_TTL && time <= LONGEST_TTL => *into = Some(time),
        _ => {
            let message = format!("`ttl` is a time, not {}", said(&node.value));
            faults.tell(node.number, message, "write 1s to 520w, as in 7d; by default entries are permanent");
        }
    }
}

/// `64`: a provider has a /32, so that what is shorter would block all of its customers.
pub fn ipv6_prefix(faults: &mut Faults, node: Node, into: &mut Option<u8>) {
    let length = match &node.value {
        Value::Number(Some(length)) => u8::try_from(*length).ok(),
        Value::Text(word) => word.strip_prefix('/').and_then(|length| length.parse().ok()),
        Value::Nothing
        | Value::Bool(_)
        | Value::Number(None)
        | Value::List(_)
        | Value::Map(_)
        | Value::Tagged => None,
    };
    match length {
        Some(length @ 32..=AS_GIVEN) => *into = Some(length),
        _ => {
            let message = format!("`ipv6_prefix` is the length of a prefix, not {}", said(&node.value));
            faults.tell(node.number, message, "write 32 to 128, as in 64; by default IPv6 is not widened");
        }
    }
}

fn grouped(word: &str) -> Option<u64> {
    if is_digits(word) {
        return word.parse().ok();
    }
    let mut groups = word.split([',', '_', ' ']);
    let first = groups.next()?;
    let is_well = |group: &str, least| group.len() >= least && group.len() <= 3 && is_digits(group);
    let rest: Vec<&str> = groups.collect();
    let fits = is_well(first, 1) && rest.iter().all(|group| is_well(group, 3));
    fits.then(|| [&[first], &rest[..]].concat().concat().parse().ok())?
}

fn is_digits(group: &str) -> bool {
    !group.is_empty() && group.bytes().all(|byte| byte.is_ascii_digit())
}

fn said(value: &Value) -> String {
    match value {
        Value::Text(word) => format!("`{}`", excerpt(word)),
        Value::Number(Some(number)) => number.to_string(),
        Value::Number(None) => "this one".to_owned(),
        other @ (Value::Nothing | Value::Bool(_) | Value::List(_) | Value::Map(_) | Value::Tagged) => {
            kind(other).to_owned()
        }
    }
}
