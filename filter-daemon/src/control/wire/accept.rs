//! What a reload is to take as it is: lists, however little is left of them, and interfaces that are not there.

use std::str::FromStr;

use super::words;
use crate::config::check_interface_name;
use crate::text::printable;

/// Everything that is accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accept(Vec<Accepted>);

/// A name that is accepted. Neither lists nor interfaces have colons in theirs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    kind: Option<Kind>,
    name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    List,
    Interface,
}

/// The word for every list. It stands for no interface: whoever means one calls it by its name.
const ALL: &str = "all";

const LIST: &str = "list:";
const INTERFACE: &str = "interface:";

/// What is wrong with the words for a configuration.
#[derive(Debug, PartialEq, Eq)]
pub enum Wrong<'a> {
    /// Nothing is called so.
    Unknown(&'a str),
    /// It may mean a list or an interface.
    Either(&'a str),
}

impl Accept {
    /// These.
    #[must_use]
    pub const fn of(accepted: Vec<Accepted>) -> Self {
        Self(accepted)
    }

    /// Is nothing said of anything?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Is this list one of them?
    #[must_use]
    pub fn has_list(&self, name: &str) -> bool {
        self.0.iter().any(|one| one.may_be(Kind::List) && (one.name == name || one.is_all()))
    }

    /// Is it accepted that this interface is not there?
    #[must_use]
    pub fn has_interface(&self, name: &str) -> bool {
        self.0.iter().any(|one| one.may_be(Kind::Interface) && one.name == name && !one.is_all())
    }

    /// The first of them that cannot be meant, where these are the lists and the interfaces of the configuration, and those
    /// of the latter that are filtered.
    #[must_use]
    pub fn wrong(&self, lists: &[&str], interfaces: &[String], filtered: &[String]) -> Option<Wrong<'_>> {
        let has = |names: &[String], name: &str| names.iter().any(|one| one == name);
        self.0.iter().filter(|one| !one.is_all()).find_map(|one| {
            let name = one.name.as_str();
            let is_list = one.may_be(Kind::List) && lists.contains(&name);
            let is_interface = one.may_be(Kind::Interface) && has(interfaces, name);
            match (is_list, is_interface) {
                (false, false) => Some(Wrong::Unknown(name)),
                (true, true) if !has(filtered, name) => Some(Wrong::Either(name)),
                (true, _) | (false, true) => None,
            }
        })
    }
}

impl Accepted {
    fn may_be(&self, kind: Kind) -> bool {
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
            (Some(name), _) => (Some(Kind::List), name),
            (_, Some(name)) => (Some(Kind::Interface), name),
            (None, None) => (None, word),
        };
        let may_be = match kind {
            Some(Kind::List) => words::list_name(name).map(|_| true)?,
            Some(Kind::Interface) => check_interface_name(name).is_ok(),
            None => check_interface_name(name).is_ok() || words::list_name(name).is_ok(),
        };
        if !may_be {
            let what = if kind.is_some() { "no interface" } else { "neither a list nor an interface" };
            return Err(format!("{what} can have the name {}", printable::word(name)));
        }
        Ok(Self { kind, name: name.to_owned() })
    }
}

/// The word that accepts that this interface is not there.
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
    fn all_stands_for_every_list_and_for_no_interface() {
        let all = accept(&["all"]);
        assert!(all.has_list("drop") && !all.has_interface("usb0") && !all.has_interface("all"));
        assert!(accept(&[&word_for("all")]).has_interface("all"));
    }

    #[test]
    fn a_name_is_a_list_or_an_interface_that_is_not_filtered_and_where_it_is_both_one_has_to_say() {
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
