//! The keys for the ports on which a list blocks: `ports: [22, 8000-8100]` or `except_ports: [443]`.

use filter_common::ports::{Clause, MOST_RANGES, Range};
use filter_common::sets::MOST_CLAUSES;

use super::Config;
use super::raw::{Node, YamlValue};
use super::shape::{ValueFaults, kind};
use crate::text::printable::excerpt;

/// The values of these keys, with the numbers of their nodes.
#[derive(Default)]
pub struct PortKeys {
    only: Option<(Clause, usize)>,
    except: Option<(Clause, usize)>,
}

/// Parses the value of `ports`.
pub fn only(faults: &mut ValueFaults, node: Node, said: &mut PortKeys) {
    let number = node.number;
    said.only = clause(faults, node, "`ports`", false).map(|clause| (clause, number));
}

/// Parses the value of `except_ports`.
pub fn except(faults: &mut ValueFaults, node: Node, said: &mut PortKeys) {
    let number = node.number;
    said.except = clause(faults, node, "`except_ports`", true).map(|clause| (clause, number));
}

impl PortKeys {
    /// The clause of a list, which must not be a list that allows.
    pub fn check(self, allows: bool, faults: &mut ValueFaults) -> Option<(Clause, usize)> {
        let (clause, node) = match (self.only, self.except) {
            (Some(_), Some((_, node))) => {
                let help = "write only one: `ports` for a few, `except_ports` for all but a few";
                faults.tell(node, "both `ports` and `except_ports` are given", help);
                return None;
            }
            (only, except) => only.or(except)?,
        };
        if allows {
            let help = "remove it: allowed sources pass on all ports";
            faults.tell(node, "a list that allows cannot have ports", help);
            return None;
        }
        Some((clause, node))
    }
}

/// Checks that there are not too many different clauses, with this one added to those of `config`.
pub fn must_be_few(faults: &mut ValueFaults, config: &Config, clause: Clause, node: usize) {
    let mut others: Vec<Clause> = Vec::new();
    let of_lapis = config.crowdsec.iter().filter_map(|lapi| lapi.ports);
    for other in config.lists.iter().filter_map(|list| list.ports).chain(of_lapis) {
        if !others.contains(&other) {
            others.push(other);
        }
    }
    if others.len() >= MOST_CLAUSES && !others.contains(&clause) {
        let message = format!(
            "at most {MOST_CLAUSES} different `ports` and `except_ports` settings are allowed, and this is one more"
        );
        faults.tell(node, message, "each costs time per packet: use the same setting in several lists");
    }
}

fn clause(faults: &mut ValueFaults, node: Node, subject: &str, is_except: bool) -> Option<Clause> {
    let (number, before) = (node.number, faults.0.len());
    let items = match node.value {
        YamlValue::List(items) => items,
        YamlValue::Nothing
        | YamlValue::Bool(_)
        | YamlValue::Number(_)
        | YamlValue::Text(_)
        | YamlValue::Map(_)
        | YamlValue::Tagged => {
            let message = format!("{subject} must be a list, not {}", kind(&node.value));
            faults.tell(number, message, "write it as in [22, 8000-8100]");
            return None;
        }
    };
    let ranges: Vec<Range> = items.into_iter().filter_map(|item| range(faults, item, subject)).collect();
    if faults.0.len() > before {
        return None;
    }
    if ranges.is_empty() {
        faults.tell(number, format!("{subject} is empty"), "write it as in [22, 8000-8100], or remove it");
        return None;
    }
    let clause = Clause::new(is_except, ranges);
    if clause.is_err() {
        let message = format!("{subject} has more than {MOST_RANGES} ports and ranges");
        faults.tell(number, message, "join neighbours into ranges, as in 8000-8100");
    }
    clause.ok()
}

fn range(faults: &mut ValueFaults, item: Node, subject: &str) -> Option<Range> {
    const HELP: &str = "write a number from 1 to 65535, or a range as in 8000-8100";
    let (said, found) = match &item.value {
        YamlValue::Number(Some(number)) => {
            (number.to_string(), port(*number).and_then(|port| Range::new(port, port)))
        }
        YamlValue::Text(word) => match ends(word) {
            Some((first, last)) if first > last => {
                let message = format!("{} ends before it begins", excerpt(word));
                faults.tell(item.number, message, format!("did you mean {last}-{first}?"));
                return None;
            }
            Some((first, last)) if !word.contains('-') && first != last => {
                let message = format!("{subject} cannot be `{}`", excerpt(word));
                faults.tell(item.number, message, format!("did you mean {first}-{last}?"));
                return None;
            }
            ends => (format!("`{}`", excerpt(word)), ends.and_then(|(first, last)| Range::new(first, last))),
        },
        YamlValue::Nothing
        | YamlValue::Bool(_)
        | YamlValue::Number(None)
        | YamlValue::List(_)
        | YamlValue::Map(_)
        | YamlValue::Tagged => (kind(&item.value).to_owned(), None),
    };
    if found.is_none() {
        faults.tell(item.number, format!("{subject} are numbers, not {said}"), HELP);
    }
    found
}

/// Parses `22` or `8000-8100`, and also `8000:8100`, so that the error can suggest the correct form.
fn ends(word: &str) -> Option<(u16, u16)> {
    let number = |word: &str| word.trim().parse().ok().and_then(port);
    match word.split_once(['-', ':']) {
        Some((first, last)) => Some((number(first)?, number(last)?)),
        None => number(word).map(|port| (port, port)),
    }
}

fn port(number: u64) -> Option<u16> {
    u16::try_from(number).ok().filter(|port| *port > 0)
}
