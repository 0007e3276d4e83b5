//! What `filterd reload --accept` names: lists that are taken as they are, and interfaces that may be missing.

use std::str::FromStr;

use super::words;
use crate::config::check_interface_name;
use crate::text::printable;

/// All names that the user accepts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accept(Vec<Accepted>);

/// One accepted name. Names of lists and interfaces contain no colons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    kind: Option<AcceptedKind>,
    name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AcceptedKind {
    List,
    Interface,
}

/// The word for all lists. It means no interface: an interface of this name is written with its kind.
const ALL: &str = "all";

const LIST: &str = "list:";
const INTERFACE: &str = "interface:";

/// Why a name does not fit the configuration.
#[derive(Debug, PartialEq, Eq)]
pub enum Wrong<'a> {
    /// No list and no interface has this name.
    Unknown(&'a str),
    /// A list and an interface have this name.
    Either(&'a str),
}

impl Accept {
    /// Makes it of these names.
    #[must_use]
    pub const fn of(accepted: Vec<Accepted>) -> Self {
        Self(accepted)
    }

    /// Returns whether no name was given.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether this list is accepted.
    #[must_use]
    pub fn has_list(&self, name: &str) -> bool {
        self.0.iter().any(|one| one.may_be(AcceptedKind::List) && (one.name == name || one.is_all()))
    }

    /// Returns whether this interface may be missing.
    #[must_use]
    pub fn has_interface(&self, name: &str) -> bool {
        self.0.iter().any(|one| one.may_be(AcceptedKind::Interface) && one.name == name && !one.is_all())
    }

    /// Returns the first name that does not fit these lists and interfaces of the configuration. `filtered` are the
    /// interfaces that are filtered.
    #[must_use]
    pub fn wrong(&self, lists: &[&str], interfaces: &[String], filtered: &[String]) -> Option<Wrong<'_>> {
        let has = |names: &[String], name: &str| names.iter().any(|one| one == name);
        self.0.iter().filter(|one| !one.is_all()).find_map(|one| {
            let name = one.name.as_str();
            let is_list = one.may_be(AcceptedKind::List) && lists.contains(&name);
            let is_interface = one.may_be(AcceptedKind::Interface) && has(interfaces, name);
            match (is_list, is_interface) {
                (false, false) => Some(Wrong::Unknown(name)),
                (true, true) if !has(filtered, name) => Some(Wrong::Either(name)),
                (true, _) | (false, true) => None,
            }
        })
    }
}

impl Accepted {
    fn may_be(&self, kind: AcceptedKind) -> bool {
        self.kind.is_none_or(|own| own == kind)
    }

    fn is_all(&self) -> bool {
        self.kind.is_none() && self.name == ALL
    }
}

impl FromStr for Accepted {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let (kind, name) = match (word.strip_prefix(LIST), word.strip_prefix(INTERFACE)) {
            (Some(name), _) => (Some(AcceptedKind::List), name),
            (_, Some(name)) => (Some(AcceptedKind::Interface), name),
            (None, None) => (None, word),
        };
        let may_be = match kind {
            Some(AcceptedKind::List) => words::list_name(name).map(|_| true)?,
            Some(AcceptedKind::Interface) => check_interface_name(name).is_ok(),
            None => check_interface_name(name).is_ok() || words::list_name(name).is_ok(),
        };
        if !may_be {
            let what = if kind.is_some() { "no interface" } else { "neither a list nor an interface" };
            return Err(format!("{what} can have the name {}", printable::word(name)));
        }
        Ok(Self { kind, name: name.to_owned() })
    }
}

/// Returns the word with which the user accepts that this interface is missing.
#[must_use]
pub fn word_for(interface: &str) -> String {
    if interface == ALL { format!("{INTERFACE}{interface}") } else { interface.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accept(words: &[&str]) -> Accept {
        Accept(words.iter().map(|word| word.parse().unwrap()).collect())
    }

    #[test]
    fn all_accepts_every_list_and_no_interface() {
        let all = accept(&["all"]);
        assert!(all.has_list("drop") && !all.has_interface("usb0") && !all.has_interface("all"));
        assert!(accept(&[&word_for("all")]).has_interface("all"));
    }

    #[test]
    fn ambiguous_accept_needs_a_kind() {
        let wrong = |words: &[&str], filtered: &[&str]| {
            let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
            let accept = accept(words);
            let wrong = accept.wrong(&["drop", "wg0"], &names(&["eth0", "wg0"]), &names(filtered));
            wrong.map(|wrong| format!("{wrong:?}"))
        };
        let is = |told: &str| Some(told.to_owned());
        assert_eq!(wrong(&["drop", "eth0", "all"], &[]), None);
        assert_eq!(wrong(&["eth1"], &[]), is("Unknown(\"eth1\")"));
        assert_eq!(wrong(&["wg0"], &["eth0"]), is("Either(\"wg0\")"));
        assert_eq!(wrong(&["wg0"], &["wg0"]), None, "what is filtered has nothing to be accepted");
        assert_eq!(wrong(&["list:wg0", "interface:wg0"], &[]), None);
        assert_eq!(wrong(&["list:eth0"], &[]), is("Unknown(\"eth0\")"));
        assert_eq!(wrong(&["interface:drop"], &[]), is("Unknown(\"drop\")"));
        let both = accept(&["list:wg0"]);
        assert!(both.has_list("wg0") && !both.has_interface("wg0"));
    }

    #[test]
    fn names_that_neither_can_have_are_refused() {
        for word in ["", "Drop list", "list:Drop", "interface:", "eth0:1", "interface:eth*"] {
            assert!(word.parse::<Accepted>().is_err(), "{word:?}");
        }
        assert!("büro".parse::<Accepted>().is_ok(), "an interface can have this name");
    }
}
