//! Sets of other filters. A list blocks, and a set may do anything: what it is for stands in rules, in its name, or nowhere. So
//! all sets are read before any is imported, and one that is not plainly a block list is left out until the operator says what
//! it is.

use std::io::{self, Read};

use filter_common::target::{Span, Target};
use serde::Serialize;

use super::list_of::Begun;
use super::nft::unprefixed;
use super::plain::fault;
use super::reading::{Rejected, Row};
use super::{Fault, Item, set_name};
use crate::blocklist::Targets;
use crate::command::render::figure::counted_as;
use crate::source::Reason;
use crate::source::format::nft::{Element, Holds, Table, Told, Verdict};
use crate::source::format::{self, Lack, ipset};
use crate::source::special;
use crate::text::lines::Lines;
use crate::text::{Explanation, printable};

/// A set whose name has one of these in it may be there to allow.
const ALLOWING: [&str; 10] =
    ["white", "allow", "accept", "trust", "permit", "exempt", "bypass", "ignore", "friend", "safe"];

/// The same of a word between signs: alone these letters say nothing.
const ALLOWING_WORDS: [&str; 9] = ["wl", "ok", "own", "local", "lan", "vpn", "admin", "admins", "office"];

/// Each is looked for around every entry.
const MOST_EXCEPTIONS: usize = 256;

/// All sets that were read, in their order.
#[derive(Debug, Default)]
pub struct Sets {
    sets: Vec<Set>,
    /// Lines of no set that could not be read.
    rejected: Vec<Row>,
}

#[derive(Debug)]
struct Set {
    name: String,
    table: Option<Table>,
    holds: Holds,
    rows: Vec<Row>,
    /// What its entries name and it does not mean.
    exceptions: Vec<Target>,
    /// How many elements it has that are no addresses.
    others: u64,
    is_accepted: bool,
    is_negated: bool,
    has_other_use: bool,
}

/// What the operator says of sets, by their names.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// They block.
    pub block: Vec<String>,
    /// They allow.
    pub allow: Vec<String>,
    /// No others are meant, if there is one.
    pub only: Vec<String>,
    /// They are not meant.
    pub skip: Vec<String>,
}

/// What an import makes of a set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Made {
    /// The set.
    pub name: String,
    /// How many entries it has.
    pub entries: u64,
    /// How many of them take something out of the others.
    #[serde(skip_serializing_if = "is_zero")]
    pub exceptions: u64,
    /// What becomes of them.
    pub does: Does,
    /// Why it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// Can a word of the operator put it in force?
    #[serde(skip)]
    is_doubtful: bool,
}

/// What becomes of the entries of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Does {
    /// They are blocked.
    Block,
    /// They are allowed.
    Allow,
    /// Nothing: the set is no list of addresses, or nobody has said what it is for.
    Nothing,
    /// Nothing, as the operator wants it.
    Skip,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Sets {
    /// Reads what `ipset save` writes.
    pub fn of_ipset(input: impl Read) -> io::Result<(Self, u64)> {
        let (begun, mut found, mut rows) = (Begun::now(), Self::default(), format::Ipset::default());
        let mut lines = Lines::new(input);
        while let Some(line) = lines.read()? {
            let number = Some(line.number);
            let Some((content, entry)) = rows.entry(&line) else { continue };
            let Some(name) = ipset::set_of(&line) else {
                let fault = fault(content, Reason::Form);
                found.rejected.push(Err(Rejected { line: number, fault }));
                continue;
            };
            let set = found.set(&String::from_utf8_lossy(name), None);
            match entry {
                Err(_) if rows.holds_more(name) => {
                    (set.holds, set.others) = (Holds::Concatenations, set.others + 1);
                }
                Err(reason) => {
                    set.rows.push(Err(Rejected { line: number, fault: fault(content, reason) }));
                }
                Ok(entry) if entry.is_exception => set.exceptions.extend(entry.span),
                Ok(entry) => {
                    let left = (entry.timeout > 0).then_some(entry.timeout);
                    let comment = entry.comment.map(String::from_utf8_lossy);
                    set.push(begun, entry.span, left, comment.as_deref(), number);
                }
            }
        }
        Ok((found, lines.position()))
    }

    /// Reads what `nft -j list` writes, to its end. Sets of ports, interfaces and the like are nothing that a list has.
    pub fn of_nft(input: impl Read) -> io::Result<(Self, Option<Lack>)> {
        let (begun, mut found, mut rules) = (Begun::now(), Self::default(), Vec::new());
        let lack = format::nft::read(input, |told| {
            match told {
                Told::Element(element) => found.element(begun, element),
                Told::Set(set) => found.set(&set.name, Some(&set.table)).holds = set.holds,
                Told::Rule(rule) => {
                    rules.extend(
                        rule.sets
                            .iter()
                            .map(|set| (set.clone(), rule.table.clone(), rule.verdict, rule.is_negated)),
                    );
                }
            }
            false
        })?;
        for (name, table, verdict, is_negated) in rules {
            let set = found.set(&name, Some(&table));
            set.is_negated |= is_negated;
            set.is_accepted |= verdict == Some(Verdict::Accept);
            set.has_other_use |= verdict == Some(Verdict::Other);
        }
        Ok((found, lack))
    }

    fn element(&mut self, begun: Begun, element: Element<'_>) {
        let Element { shown, span, set, left, comment, .. } = element;
        let of_set = self.set(&set.name, Some(&set.table));
        of_set.holds = set.holds;
        match span {
            _ if set.holds != Holds::Addresses => of_set.others += 1,
            Ok(span) => of_set.push(begun, span, left, comment, None),
            Err(reason) => {
                let fault = fault(shown.as_bytes(), reason);
                of_set.rows.push(Err(Rejected { line: None, fault }));
            }
        }
    }

    fn set(&mut self, name: &str, table: Option<&Table>) -> &mut Set {
        let is_it = |set: &Set| set.name == name && set.table.as_ref() == table;
        // Nearly always it is the one of the line before.
        let at = self.sets.iter().rposition(is_it).unwrap_or_else(|| {
            self.sets.push(Set::new(name, table));
            self.sets.len() - 1
        });
        &mut self.sets[at]
    }

    /// The rows of those sets that are imported, and what is made of each.
    ///
    /// # Errors
    /// When a set is named that is not there.
    pub fn choose(self, choice: &Choice) -> Result<(Vec<Row>, Vec<Made>), Explanation> {
        choice.must_name_any_of(&self.sets)?;
        let (mut rows, mut made) = (self.rejected, Vec::new());
        for set in self.sets {
            // Whoever asks for few is not told of the others.
            if set.is_empty() || !choice.only.is_empty() && !choice.only.contains(&set.name) {
                continue;
            }
            let becomes = set.becomes(choice);
            match becomes.does {
                Does::Block | Does::Allow => rows.extend(set.into_rows(becomes.does == Does::Allow)),
                Does::Nothing | Does::Skip => {}
            }
            made.push(becomes);
        }
        Ok((rows, made))
    }
}

impl Choice {
    /// Is anything said?
    pub fn is_empty(&self) -> bool {
        self.named().next().is_none()
    }

    fn named(&self) -> impl Iterator<Item = &String> {
        [&self.block, &self.allow, &self.only, &self.skip].into_iter().flatten()
    }

    fn must_name_any_of(&self, sets: &[Set]) -> Result<(), Explanation> {
        let unknown = self.named().find(|name| sets.iter().all(|set| set.name != **name));
        unknown.map_or(Ok(()), |name| {
            let names: Vec<_> = sets.iter().map(|set| printable::word(&set.name)).collect();
            let there = if names.is_empty() {
                "there are no sets".to_owned()
            } else {
                format!("the sets are {}", names.join(", "))
            };
            Err(Explanation::new(format!("no set is called {}", printable::word(name)), there))
        })
    }
}

impl Set {
    fn new(name: &str, table: Option<&Table>) -> Self {
        Self {
            name: name.to_owned(),
            table: table.cloned(),
            holds: Holds::Addresses,
            rows: Vec::new(),
            exceptions: Vec::new(),
            others: 0,
            is_accepted: false,
            is_negated: false,
            has_other_use: false,
        }
    }

    fn push(
        &mut self,
        begun: Begun,
        span: Span,
        left: Option<u64>,
        comment: Option<&str>,
        line: Option<u64>,
    ) {
        let item = begun.item(span, unprefixed(&self.name), left, comment);
        self.rows.push(item.map(|item| (line, item)).map_err(|fault: Fault| Rejected { line, fault }));
    }

    /// Sets of ports, interfaces and the like have nothing that a list has, either.
    fn is_empty(&self) -> bool {
        self.holds == Holds::Other || self.rows.is_empty() && self.exceptions.is_empty() && self.others == 0
    }

    fn becomes(&self, choice: &Choice) -> Made {
        let has = |names: &[String]| names.contains(&self.name);
        let is_list = self.holds == Holds::Addresses && self.exceptions.len() <= MOST_EXCEPTIONS;
        let is_named = has(&choice.block) || has(&choice.allow);
        let doubt = if is_named || !is_list { None } else { self.doubt() };
        let is_ours = set_name::list(unprefixed(&self.name)).is_some_and(|(_, allow)| allow);
        let (does, because) = match self.holds {
            _ if has(&choice.skip) => (Does::Skip, None),
            Holds::Mappings => (Does::Nothing, Some("it is a map".to_owned())),
            Holds::Concatenations | Holds::Other => {
                (Does::Nothing, Some("its entries are more than addresses".to_owned()))
            }
            Holds::Addresses if self.exceptions.len() > MOST_EXCEPTIONS => {
                (Does::Nothing, Some(format!("it has more than {MOST_EXCEPTIONS} exceptions (nomatch)")))
            }
            Holds::Addresses if doubt.is_some() => (Does::Nothing, doubt),
            Holds::Addresses if has(&choice.allow) || is_ours && !has(&choice.block) => (Does::Allow, None),
            Holds::Addresses => (Does::Block, None),
        };
        Made {
            name: self.name.clone(),
            entries: self.rows.len() as u64 + self.others,
            exceptions: self.exceptions.len() as u64,
            does,
            is_doubtful: does == Does::Nothing && is_list,
            because,
        }
    }

    /// Why it may be something else than a block list.
    fn doubt(&self) -> Option<String> {
        if self.is_accepted {
            return Some("a rule accepts what is in it".to_owned());
        }
        if self.is_negated {
            return Some("a rule looks for what is not in it".to_owned());
        }
        if self.has_other_use {
            return Some("a rule does something else with it than to drop".to_owned());
        }
        let count = self.exceptions.len() as u64;
        if count > 0 {
            return Some(format!("it has {} (nomatch)", counted_as(count, ["exception", "exceptions"])));
        }
        // filterd itself writes `.allow` behind what allows.
        let (list, is_ours) =
            set_name::list(unprefixed(&self.name)).map(|(list, allow)| (list.to_string(), allow))?;
        let word = says_allow(&list).filter(|_| !is_ours)?;
        Some(format!("its name says `{word}`"))
    }

    /// Its entries, without what its exceptions take out of them.
    fn into_rows(self, allow: bool) -> Vec<Row> {
        let Self { rows, exceptions, .. } = self;
        let mut made = Vec::with_capacity(rows.len());
        for row in rows {
            let Ok((line, item)) = row else {
                made.push(row);
                continue;
            };
            let item = Item { allow, ..item };
            let is_touched = |target: Target| exceptions.iter().any(|exception| target.covers(exception));
            if !item.span.into_iter().any(is_touched) {
                made.push(Ok((line, item)));
                continue;
            }
            let mut left: Targets = item.span.into_iter().collect();
            special::except(&mut left, &exceptions);
            made.extend(left.iter().map(|target| Ok((line, Item { span: target.into(), ..item.clone() }))));
        }
        made
    }
}

/// The word in a set's name that says so.
fn says_allow(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    let mut words = name.split(|sign: char| !sign.is_ascii_alphanumeric());
    ALLOWING
        .into_iter()
        .find(|word| name.contains(word))
        .or_else(|| words.find_map(|word| ALLOWING_WORDS.into_iter().find(|allowing| *allowing == word)))
}

impl Made {
    /// In a line.
    pub fn told(&self) -> String {
        let entries = counted_as(self.entries, ["entry", "entries"]);
        let without = match self.exceptions {
            0 => String::new(),
            count => format!(" without {}", counted_as(count, ["exception", "exceptions"])),
        };
        let name = printable::word(&self.name);
        match (self.does, &self.because) {
            (Does::Block, _) => format!("set {name}: {entries} to block{without}"),
            (Does::Allow, _) => format!("set {name}: {entries} to allow{without}"),
            (Does::Skip, _) => format!("set {name}: {entries} skipped"),
            (Does::Nothing, because) => {
                let because = because.as_deref().unwrap_or_default();
                format!("set {name}: {entries} left out: {because}")
            }
        }
    }

    /// What is to be done about it, if it was left out.
    pub fn fault(&self) -> Option<Explanation> {
        let (Does::Nothing, Some(because)) = (self.does, &self.because) else { return None };
        let message = format!("set {} was not imported: {because}", printable::word(&self.name));
        let name = &self.name;
        let remedy = if self.is_doubtful {
            format!("say what it is for: --block {name}, --allow {name} or --skip {name}")
        } else {
            format!("no list can hold it: with --skip {name} nothing more is said of it")
        };
        Some(Explanation::new(message, remedy))
    }
}
