//! The keys for limits of a list: shares such as `50%`, numbers of targets, and the lifetime of its entries.

use std::time::Duration;

use super::AS_GIVEN;
use super::raw::{Node, YamlValue};
use super::shape::{ValueFaults, kind};
use crate::text::printable::excerpt;
use crate::text::quantity;

/// More targets than any table can hold.
const MOST_ENTRIES: u64 = 1_000_000_000;

/// Equal to the limits of commands that add entries.
const SHORTEST_TTL: Duration = Duration::from_secs(1);
const LONGEST_TTL: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// Parses a share from 0 to 100 percent, such as `50%`.
pub fn share(faults: &mut ValueFaults, node: Node, subject: &str, into: &mut u8) {
    let (message, help) = match &node.value {
        YamlValue::Text(word) => match quantity::percent(word) {
            Ok(percent) => {
                *into = percent;
                return;
            }
            Err(_) => (format!("{subject} cannot be `{}`", excerpt(word)), "write 0% to 100%".to_owned()),
        },
        YamlValue::Number(Some(percent @ 0..=100)) => {
            (format!("{subject} is a share"), format!("did you mean {percent}%?"))
        }
        YamlValue::Nothing
        | YamlValue::Bool(_)
        | YamlValue::Number(_)
        | YamlValue::List(_)
        | YamlValue::Map(_)
        | YamlValue::Tagged => {
            (format!("{subject} is a share, not {}", kind(&node.value)), "write it as in 50%".to_owned())
        }
    };
    faults.tell(node.number, message, help);
}

/// Parses a number such as `5000000`. If its digits are grouped by commas, underscores or blanks, YAML treats
/// it as text.
pub fn entries(faults: &mut ValueFaults, node: Node, subject: &str, least: u64, into: &mut u64) {
    let number = match &node.value {
        YamlValue::Number(number) => *number,
        YamlValue::Text(word) => grouped(word),
        YamlValue::Nothing
        | YamlValue::Bool(_)
        | YamlValue::List(_)
        | YamlValue::Map(_)
        | YamlValue::Tagged => None,
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

/// Parses a time such as `7d`, `12h` or `90` (seconds).
pub fn ttl(faults: &mut ValueFaults, node: Node, into: &mut Option<Duration>) {
    let time = match &node.value {
        YamlValue::Number(Some(seconds)) => Some(Duration::from_secs(*seconds)),
        YamlValue::Text(word) => quantity::duration(word).ok(),
        YamlValue::Nothing
        | YamlValue::Bool(_)
        | YamlValue::Number(None)
        | YamlValue::List(_)
        | YamlValue::Map(_)
        | YamlValue::Tagged => None,
    };
    match time {
        Some(time) if time >= SHORTEST_TTL && time <= LONGEST_TTL => *into = Some(time),
        _ => {
            let message = format!("`ttl` is a time, not {}", said(&node.value));
            faults.tell(
                node.number,
                message,
                "write 1s to 3650d, as in 7d; by default entries are permanent",
            );
        }
    }
}

/// Parses a prefix length such as `64`. A provider has a /32, so a shorter prefix would block all its
/// customers.
pub fn ipv6_prefix(faults: &mut ValueFaults, node: Node, into: &mut Option<u8>) {
    let length = match &node.value {
        YamlValue::Number(Some(length)) => u8::try_from(*length).ok(),
        YamlValue::Text(word) => word.strip_prefix('/').and_then(|length| length.parse().ok()),
        YamlValue::Nothing
        | YamlValue::Bool(_)
        | YamlValue::Number(None)
        | YamlValue::List(_)
        | YamlValue::Map(_)
        | YamlValue::Tagged => None,
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

fn said(value: &YamlValue) -> String {
    match value {
        YamlValue::Text(word) => format!("`{}`", excerpt(word)),
        YamlValue::Number(Some(number)) => number.to_string(),
        YamlValue::Number(None) => "this one".to_owned(),
        other @ (YamlValue::Nothing
        | YamlValue::Bool(_)
        | YamlValue::List(_)
        | YamlValue::Map(_)
        | YamlValue::Tagged) => kind(other).to_owned(),
    }
}
