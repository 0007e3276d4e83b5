//! The filters of a LAPI: lists of words that filterd sends to it, or compares with what it answers.

use super::super::nearest::nearest;
use super::super::raw::{Node, YamlValue};
use super::super::shape::{TextValue, ValueFaults};
use crate::text::printable::excerpt;

/// The scopes whose targets filterd can block.
pub const SCOPES: [&str; 4] = ["ip", "range", "as", "country"];

/// The origins that LAPI itself gives. It distinguishes capital letters.
const ORIGINS: [&str; 6] = ["crowdsec", "cscli", "cscli-import", "console", "lists", "CAPI"];

/// More words than anyone names, and more letters than a scenario has.
const MOST: usize = 64;
const LONGEST: usize = 128;

/// Parses types of decisions, such as `ban`.
pub fn types(faults: &mut ValueFaults, node: Node, into: &mut Vec<String>) {
    each(faults, node, "`types`", into, |_, word| Some(word.text.to_lowercase()));
}

/// Parses origins, such as `CAPI` or `lists:NAME`.
pub fn origins(faults: &mut ValueFaults, node: Node, into: &mut Vec<String>) {
    each(faults, node, "`origins`", into, |faults, TextValue { node, text }| {
        let meant = ORIGINS.iter().find(|origin| origin.eq_ignore_ascii_case(&text));
        if let Some(meant) = meant.filter(|meant| **meant != text) {
            let message = format!("there is no origin `{}`", excerpt(&text));
            faults.tell(node, message, format!("did you mean {meant}?"));
            return None;
        }
        Some(text)
    });
}

/// Parses scopes. Capital letters do not matter.
pub fn scopes(faults: &mut ValueFaults, node: Node, into: &mut Vec<String>) {
    each(faults, node, "`scopes`", into, |faults, TextValue { node, text }| {
        let scope = text.to_lowercase();
        if SCOPES.contains(&scope.as_str()) {
            return Some(scope);
        }
        let meant = if scope == "asn" { Some("as") } else { nearest(&scope, SCOPES) };
        let help = meant.map_or_else(
            || "use ip, range, as or country".to_owned(),
            |meant| format!("did you mean {meant}?"),
        );
        faults.tell(node, format!("filterd cannot block decisions of the scope `{}`", excerpt(&text)), help);
        None
    });
}

/// Parses parts of the names of scenarios, such as `ssh-bf`.
pub fn scenarios(faults: &mut ValueFaults, node: Node, subject: &str, into: &mut Vec<String>) {
    each(faults, node, subject, into, |_, word| Some(word.text));
}

/// Takes each distinct word once. A single word need not be in a list, and no words mean the default.
fn each(
    faults: &mut ValueFaults,
    node: Node,
    subject: &str,
    into: &mut Vec<String>,
    mut take: impl FnMut(&mut ValueFaults, TextValue) -> Option<String>,
) {
    if matches!(node.value, YamlValue::Nothing) {
        return;
    }
    let items = node.one_or_several();
    if let Some(beyond) = items.get(MOST) {
        return faults.tell(beyond.number, format!("{subject} has at most {MOST} words"), "name fewer");
    }
    for item in items {
        let Some(word) = faults.text(item, subject) else { continue };
        // LAPI separates words by commas.
        if word.text.is_empty()
            || word.text.len() > LONGEST
            || word.text.contains([',', ' '])
            || has_control(&word)
        {
            let message = format!("{subject} cannot contain `{}`", excerpt(&word.text));
            faults.tell(word.node, message, "write words without blanks and commas, as in [a, b]");
            continue;
        }
        if let Some(word) = take(faults, word).filter(|word| !into.contains(word)) {
            into.push(word);
        }
    }
}

fn has_control(word: &TextValue) -> bool {
    word.text.chars().any(char::is_control)
}

/// The word in a query of a URL.
pub fn escaped(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/".contains(&byte);
    let letter = |byte: u8| match plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    word.bytes().map(letter).collect()
}
