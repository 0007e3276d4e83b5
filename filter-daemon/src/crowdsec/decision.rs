//! A decision of CrowdSec, checked: whom it concerns, until when, and why.

use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::Arc;

use filter_common::target::{Prefix, Target};
use serde::Deserialize;

use super::duration;
use super::list_name::digest;
use super::loose_value::LooseValue;
use crate::blocklist::Timestamp;
use crate::source::chosen::{Autonomous, Country};
use crate::text::printable;

/// The most characters that are kept of a scenario, an origin or a type.
const MOST_CHARS: usize = 128;

/// The most bytes that are kept of them, so that a scenario fits in a note.
const MOST_BYTES: usize = 220;

/// The origin of decisions from blocklists. Their scenario is the name of the blocklist.
const LISTS: &str = "lists";

/// A decision that names something to block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    pub id: u64,
    /// Who decided, such as `CAPI` or `lists:tor`.
    pub origin: Arc<str>,
    /// What to do, such as `ban`.
    pub kind: Arc<str>,
    /// What the decision concerns.
    pub scope: Scope,
    /// Why, in the words of CrowdSec.
    pub scenario: Arc<str>,
    pub until: Timestamp,
}

/// What a decision concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// An address or a range.
    Target(Target),
    /// All networks of an autonomous system.
    Autonomous(Autonomous),
    /// All networks of a country.
    Country(Country),
}

/// A decision as LAPI sends it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct RawDecision {
    pub id: LooseValue,
    origin: LooseValue,
    #[serde(rename = "type")]
    kind: LooseValue,
    scope: LooseValue,
    value: LooseValue,
    duration: LooseValue,
    scenario: LooseValue,
    simulated: LooseValue,
}

/// Why a decision is left out.
#[derive(Debug, PartialEq, Eq)]
pub enum RejectedDecision {
    /// It has another type than the accepted ones, or is only simulated.
    Type,
    /// Its scope is none that packets have.
    Scope,
    /// A field is wrong. The text says which one.
    Malformed(String),
}

impl RawDecision {
    /// The decision, if it has one of these types.
    pub fn check(
        &self,
        types: &[String],
        now: Timestamp,
        strings: &mut SharedStrings,
    ) -> Result<Decision, RejectedDecision> {
        let kind = self.kind.text();
        if self.simulated == LooseValue::Flag(true) || !types.iter().any(|one| one.eq_ignore_ascii_case(kind))
        {
            return Err(RejectedDecision::Type);
        }
        let scope = scope(self.scope.text(), self.value.text())?;
        let id = self.id.number().ok_or_else(|| malformed("a decision has no ID"))?;
        let until = duration::seconds(self.duration.text()).map(|seconds| now.later_by(seconds));
        let until = until.ok_or_else(|| self.fault(id, &self.duration, "is not a duration"))?;
        let origin = strings.share(&self.origin());
        let scenario = strings.share(&shortened(self.scenario.text()));
        Ok(Decision { id, origin, kind: strings.share(&shortened(kind)), scope, scenario, until })
    }

    /// The origin, which names the blocklist if there is one. Different origins stay different.
    fn origin(&self) -> String {
        let (origin, scenario) = (self.origin.text(), self.scenario.text());
        let whole = if origin == LISTS && !scenario.is_empty() {
            format!("{LISTS}:{scenario}")
        } else {
            origin.to_owned()
        };
        let short = shortened(&whole);
        if short == whole { short } else { format!("{short} #{:08x}", digest(&whole)) }
    }

    fn fault(&self, id: u64, value: &LooseValue, fault: &str) -> RejectedDecision {
        malformed(format!("decision {id}: {} {fault}", printable::word(value.text())))
    }
}

fn malformed(text: impl Into<String>) -> RejectedDecision {
    RejectedDecision::Malformed(text.into())
}

/// What a scope and a value mean.
fn scope(word: &str, value: &str) -> Result<Scope, RejectedDecision> {
    let is = |name: &str| word.eq_ignore_ascii_case(name);
    let (scope, kind) = if is("ip") || is("range") {
        (target(value).map(Scope::Target), "an address or a range")
    } else if is("as") {
        (value.parse().ok().map(Scope::Autonomous), "the number of an autonomous system")
    } else if is("country") {
        (Country::of_bytes(value.as_bytes()).map(Scope::Country), "the code of a country")
    } else {
        return Err(RejectedDecision::Scope);
    };
    scope.ok_or_else(|| malformed(format!("{} is not {kind}", printable::word(value))))
}

/// An address, or the network of a range. IPv4-mapped addresses are IPv4 addresses.
fn target(value: &str) -> Option<Target> {
    let Some((address, length)) = value.split_once('/') else {
        return value.parse::<IpAddr>().ok().map(Target::from);
    };
    let is_plain = length.bytes().all(|digit| digit.is_ascii_digit());
    let length: u8 = length.parse().ok().filter(|_| is_plain)?;
    match address.parse().ok()? {
        IpAddr::V4(address) => network(address.to_bits(), length),
        IpAddr::V6(address) => match address.to_ipv4_mapped() {
            Some(mapped) => network(mapped.to_bits(), length.checked_sub(96)?),
            None => network(address.to_bits(), length),
        },
    }
}

fn network<A: filter_common::target::Address>(address: A, length: u8) -> Option<Target>
where
    Target: From<Prefix<A>>,
{
    (length <= A::BITS).then(|| Prefix::covering(address, length).into())
}

/// The text without invisible characters, and not too long.
fn shortened(text: &str) -> String {
    let visible = text.chars().filter(|letter| !printable::is_unseen(*letter)).take(MOST_CHARS);
    let mut room = MOST_BYTES;
    let fits = |letter: &char| {
        let left = room.checked_sub(letter.len_utf8());
        room = left.unwrap_or(0);
        left.is_some()
    };
    visible.take_while(fits).collect()
}

/// Keeps one copy of equal texts.
#[derive(Debug, Default)]
pub struct SharedStrings(HashSet<Arc<str>>);

impl SharedStrings {
    /// The shared copy of a text.
    pub fn share(&mut self, text: &str) -> Arc<str> {
        if let Some(shared) = self.0.get(text) {
            return Arc::clone(shared);
        }
        let shared = Arc::from(text);
        self.0.insert(Arc::clone(&shared));
        shared
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_secs(1_000);

    fn check(json: &str) -> Result<Decision, RejectedDecision> {
        let raw: RawDecision = serde_json::from_str(json).unwrap();
        raw.check(&["ban".to_owned()], NOW, &mut SharedStrings::default())
    }

    fn item(scope: &str, value: &str) -> String {
        serde_json::json!({
            "id": 7, "origin": "cscli", "type": "ban", "scope": scope, "value": value, "duration": "1h",
        })
        .to_string()
    }

    #[test]
    fn scopes_and_values_are_read() {
        for (word, value, expected) in [
            ("Ip", "192.0.2.1", "192.0.2.1"),
            ("ip", "2001:db8::1", "2001:db8::1"),
            ("Ip", "::ffff:192.0.2.1", "192.0.2.1"),
            ("Ip", "192.0.2.0/24", "192.0.2.0/24"),
            ("Range", "10.1.2.3/8", "10.0.0.0/8"),
            ("RANGE", "2001:db8::1/32", "2001:db8::/32"),
            ("Range", "::ffff:192.0.2.9/120", "192.0.2.0/24"),
            ("Range", "192.0.2.7/32", "192.0.2.7"),
            ("Range", "0.0.0.0/0", "0.0.0.0/0"),
        ] {
            let scope = check(&item(word, value)).unwrap().scope;
            assert_eq!(scope, Scope::Target(expected.parse().unwrap()), "{word} {value}");
        }
        for (word, value) in [("AS", "64500"), ("as", "AS64500")] {
            assert_eq!(
                check(&item(word, value)).unwrap().scope,
                Scope::Autonomous("AS64500".parse().unwrap())
            );
        }
        assert_eq!(check(&item("Country", "fr")).unwrap().scope, Scope::Country("FR".parse().unwrap()));
    }

    #[test]
    fn wrong_values_are_malformed() {
        for (word, value) in [
            ("Ip", ""),
            ("Ip", "300.1.2.3"),
            ("Ip", "192.0.2.1-192.0.2.9"),
            ("Ip", "fe80::1%eth0"),
            ("Range", "192.0.2.0/33"),
            ("Range", "192.0.2.0/"),
            ("Range", "192.0.2.0/+8"),
            ("Range", "2001:db8::/129"),
            ("Range", "::ffff:0.0.0.0/64"),
            ("AS", "0"),
            ("AS", "example"),
            ("Country", "FRA"),
        ] {
            let rejected = check(&item(word, value)).unwrap_err();
            assert!(matches!(rejected, RejectedDecision::Malformed(_)), "{word} {value}: {rejected:?}");
        }
    }

    #[test]
    fn missing_fields_are_malformed() {
        for (json, expected) in [
            (
                r#"{"type": "ban", "scope": "ip", "value": "192.0.2.1", "duration": "1h"}"#,
                "a decision has no ID",
            ),
            (r#"{"id": -7, "type": "ban", "scope": "ip", "value": "192.0.2.1"}"#, "a decision has no ID"),
            (r#"{"id": 7, "type": "ban", "scope": "ip", "value": 7}"#, "`` is not an address or a range"),
            (
                r#"{"id": 7, "type": "ban", "scope": "ip", "value": "192.0.2.1", "duration": "soon"}"#,
                "decision 7: `soon` is not a duration",
            ),
        ] {
            assert_eq!(check(json), Err(RejectedDecision::Malformed(expected.to_owned())), "{json}");
        }
    }

    #[test]
    fn other_types_and_scopes_are_left_out() {
        assert_eq!(check(r#"{"type": "captcha", "scope": "Ip"}"#), Err(RejectedDecision::Type));
        assert_eq!(check(r#"{"scope": "Ip"}"#), Err(RejectedDecision::Type));
        assert_eq!(check(r#"{"type": "BAN", "simulated": true}"#), Err(RejectedDecision::Type));
        assert_eq!(check(r#"{"type": "Ban", "scope": "username"}"#), Err(RejectedDecision::Scope));
    }

    #[test]
    fn decision_ends_after_its_duration() {
        let until = |duration: &str| {
            check(&item("Ip", "192.0.2.1").replace("1h", duration)).unwrap().until.after(NOW)
        };
        assert_eq!((until("1.5s"), until("-10s"), until("9999999h") > 0), (2, -10, true));
    }

    #[test]
    fn blocklist_names_itself_in_the_origin() {
        let origin = |json: &str| {
            let raw: RawDecision = serde_json::from_str(json).unwrap();
            raw.origin()
        };
        assert_eq!(origin(r#"{"origin": "lists", "scenario": "tor"}"#), "lists:tor");
        assert_eq!(origin(r#"{"origin": "lists:tor", "scenario": "x"}"#), "lists:tor");
        assert_eq!(origin(r#"{"origin": "lists"}"#), "lists");
        assert_eq!(origin(r#"{"origin": "CAPI", "scenario": "x"}"#), "CAPI");
    }

    #[test]
    fn long_and_invisible_texts_are_shortened() {
        assert_eq!(shortened("a\x1b[31m\u{202e}b\n"), "a[31mb");
        assert_eq!(shortened(&"x".repeat(1_000)), "x".repeat(MOST_CHARS));
        assert_eq!(shortened(&"日".repeat(1_000)).chars().count(), 73);
        let origin = |origin: &str| {
            let raw: RawDecision = serde_json::from_value(serde_json::json!({ "origin": origin })).unwrap();
            raw.origin()
        };
        assert_ne!(origin(&"x".repeat(200)), origin(&"x".repeat(201)));
        assert_ne!(origin("a\n"), origin("a"));
    }

    #[test]
    fn equal_texts_are_shared() {
        let mut strings = SharedStrings::default();
        let (one, two) = (strings.share("ban"), strings.share("ban"));
        assert!(Arc::ptr_eq(&one, &two));
    }
}
