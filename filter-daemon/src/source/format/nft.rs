//! Reads the output of `nft -j list`: one document with sets, whose elements are addresses, prefixes or
//! ranges, possibly with a timeout or a comment. It is read as a stream, so a set of any size needs no more
//! memory than its longest word.

mod document;

use std::io::{self, Read};

use filter_common::target::Span;

use self::document::{Document, Fault, Kind};
use super::Lack;
use crate::source::line;
use crate::source::rejected::Reason;

/// The deepest nesting of elements or commands. nft writes one level.
const DEEPEST: u8 = 4;

/// An element of a set. If it is read as part of a list, only its span is used.
pub struct Element<'a> {
    /// The line on which it ends, counted from one.
    pub line: u64,
    /// The text that is shown for it.
    pub shown: &'a str,
    /// The addresses that it names, or the error in it.
    pub span: Result<Span, Reason>,
    /// The set that it belongs to.
    pub set: &'a Set,
    /// The seconds that are left, stated by the element or its set.
    pub left: Option<u64>,
    /// The comment that an operator wrote.
    pub comment: Option<&'a str>,
}

/// A set, with the facts known before its elements: nft writes those last.
#[derive(Default)]
pub struct Set {
    pub name: String,
    /// The table that contains the set.
    pub table: Table,
    pub holds: Holds,
    timeout: Option<u64>,
}

/// The table of a set or a rule.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Table {
    /// The address family, as in `inet`.
    pub family: String,
    pub name: String,
}

impl Table {
    /// Family and name, in the form that `nft` accepts.
    pub fn words(&self) -> String {
        format!("{} {}", self.family, self.name).trim().to_owned()
    }
}

/// The type of a set's entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Holds {
    /// Addresses, prefixes or ranges.
    #[default]
    Addresses,
    /// Addresses together with ports, interfaces or marks.
    Concatenations,
    /// Addresses that each have a value: the set is a map.
    Mappings,
    /// Ports, interfaces and other types.
    Other,
}

/// A rule, as far as it matches packets against sets.
#[derive(Debug, Default)]
pub struct Rule {
    pub table: Table,
    /// The sets that the rule matches against.
    pub sets: Vec<String>,
    /// Whether it matches packets that are not in the set (`!=`).
    pub is_negated: bool,
    /// Whether it matches anything other than a source address in one set, or has other statements than
    /// counters, logs and verdicts.
    pub is_conditional: bool,
    /// The sets to which it adds or from which it removes elements.
    pub filled: Vec<String>,
    /// Its verdict, if it has one.
    pub verdict: Option<Verdict>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The verdict `accept`, which lets packets pass.
    Accept,
    /// The verdicts `drop` and `reject`.
    Drop,
    /// `return`, `jump` and others, after which later rules decide.
    Other,
}

/// A part of a document.
pub enum Part<'a> {
    Element(Element<'a>),
    /// A set, reported after its elements.
    Set(&'a Set),
    Rule(&'a Rule),
}

/// Reads a document to its end and passes each part to `tell`, which returns true to stop. Returns the
/// missing part of an incomplete document.
///
/// # Errors
/// If the input cannot be read.
pub fn read(input: impl Read, tell: impl FnMut(Part<'_>) -> bool) -> io::Result<Option<Lack>> {
    let mut reading = Reading { document: Document::new(input), tell };
    match reading.root() {
        Ok(()) | Err(Fault::Full) => Ok(None),
        Err(Fault::End) => Ok(Some(Lack::End)),
        Err(Fault::Broken) => Ok(Some(Lack::Broken { line: reading.document.line() })),
        Err(Fault::Input(error)) => Err(error),
    }
}

/// The content of an element. `word` is an address, prefix or range in the form of a plain list, if the
/// element is no more than that.
#[derive(Default)]
struct Said {
    word: Option<String>,
    timeout: Option<u64>,
    expires: Option<u64>,
    comment: Option<String>,
}

struct Reading<R, T> {
    document: Document<R>,
    tell: T,
}

impl<R: Read, T: FnMut(Part<'_>) -> bool> Reading<R, T> {
    fn root(&mut self) -> Result<(), Fault> {
        self.document.skip_mark()?;
        self.document.open(b'{')?;
        while let Some(key) = self.document.key()? {
            match (key.as_str(), self.document.kind()?) {
                ("nftables", Kind::Array) => self.items()?,
                _ => self.document.skip()?,
            }
        }
        self.document.must_end()
    }

    fn items(&mut self) -> Result<(), Fault> {
        self.document.open(b'[')?;
        while self.document.has_item()? {
            self.item(0)?;
        }
        Ok(())
    }

    /// Reads a set, the elements of one, or the command that adds either.
    fn item(&mut self, depth: u8) -> Result<(), Fault> {
        if depth > DEEPEST || self.document.kind()? != Kind::Object {
            return self.document.skip();
        }
        self.document.open(b'{')?;
        while let Some(key) = self.document.key()? {
            match (key.as_str(), self.document.kind()?) {
                ("set" | "element", Kind::Object) => self.set(Holds::Addresses)?,
                ("map", Kind::Object) => self.set(Holds::Mappings)?,
                ("rule", Kind::Object) => self.rule()?,
                ("add" | "create", _) => self.item(depth + 1)?,
                _ => self.document.skip()?,
            }
        }
        Ok(())
    }

    fn set(&mut self, holds: Holds) -> Result<(), Fault> {
        let mut set = Set { holds, ..Set::default() };
        self.document.open(b'{')?;
        while let Some(key) = self.document.key()? {
            match (key.as_str(), self.document.kind()?) {
                ("name", Kind::Text) => set.name = self.document.text()?,
                ("family", Kind::Text) => set.table.family = self.document.text()?,
                ("table", Kind::Text) => set.table.name = self.document.text()?,
                ("type", Kind::Text) if holds == Holds::Addresses => {
                    let is_address = matches!(self.document.text()?.as_str(), "ipv4_addr" | "ipv6_addr");
                    set.holds = if is_address { Holds::Addresses } else { Holds::Other };
                }
                ("type", Kind::Array) if holds == Holds::Addresses => {
                    set.holds = Holds::Concatenations;
                    self.document.skip()?;
                }
                ("timeout", Kind::Other) => set.timeout = self.number()?,
                ("elem", Kind::Array) => self.elements(&set)?,
                _ => self.document.skip()?,
            }
        }
        if (self.tell)(Part::Set(&set)) { Err(Fault::Full) } else { Ok(()) }
    }

    fn rule(&mut self) -> Result<(), Fault> {
        let mut rule = Rule::default();
        self.document.open(b'{')?;
        while let Some(key) = self.document.key()? {
            match (key.as_str(), self.document.kind()?) {
                ("family", Kind::Text) => rule.table.family = self.document.text()?,
                ("table", Kind::Text) => rule.table.name = self.document.text()?,
                ("expr", Kind::Array) => {
                    self.document.open(b'[')?;
                    while self.document.has_item()? {
                        self.expression(&mut rule)?;
                    }
                }
                _ => self.document.skip()?,
            }
        }
        if (self.tell)(Part::Rule(&rule)) { Err(Fault::Full) } else { Ok(()) }
    }

    /// Reads a match or a statement of a rule.
    fn expression(&mut self, rule: &mut Rule) -> Result<(), Fault> {
        if self.document.kind()? != Kind::Object {
            return self.document.skip();
        }
        self.document.open(b'{')?;
        while let Some(key) = self.document.key()? {
            let verdict = match (key.as_str(), self.document.kind()?) {
                ("match", Kind::Object) => {
                    self.matching(rule)?;
                    continue;
                }
                ("set", Kind::Object) => {
                    self.filling(rule)?;
                    continue;
                }
                ("accept", _) => Some(Verdict::Accept),
                ("drop" | "reject", _) => Some(Verdict::Drop),
                ("return" | "jump" | "goto" | "queue" | "vmap", _) => Some(Verdict::Other),
                ("counter" | "log" | "comment", _) => None,
                _ => {
                    rule.is_conditional = true;
                    None
                }
            };
            rule.verdict = verdict.or(rule.verdict);
            self.document.skip()?;
        }
        Ok(())
    }

    fn matching(&mut self, rule: &mut Rule) -> Result<(), Fault> {
        let (mut is_negated, mut is_source, mut set) = (false, false, None);
        self.document.open(b'{')?;
        while let Some(key) = self.document.key()? {
            match (key.as_str(), self.document.kind()?) {
                ("op", Kind::Text) => is_negated = self.document.text()? == "!=",
                ("left", Kind::Object) => is_source = self.is_source()?,
                ("right", Kind::Text) => {
                    set = self.document.text()?.strip_prefix('@').map(ToOwned::to_owned);
                }
                _ => self.document.skip()?,
            }
        }
        rule.is_negated |= is_negated && set.is_some();
        rule.is_conditional |= !is_source || set.is_none() || !rule.sets.is_empty();
        rule.sets.extend(set);
        Ok(())
    }

    /// True if the left side of a match is the source address.
    fn is_source(&mut self) -> Result<bool, Fault> {
        let mut is_source = false;
        self.document.open(b'{')?;
        while let Some(key) = self.document.key()? {
            match (key.as_str(), self.document.kind()?) {
                ("payload", Kind::Object) => {
                    self.document.open(b'{')?;
                    while let Some(key) = self.document.key()? {
                        match (key.as_str(), self.document.kind()?) {
                            ("field", Kind::Text) => is_source = self.document.text()? == "saddr",
                            _ => self.document.skip()?,
                        }
                    }
                }
                _ => self.document.skip()?,
            }
        }
        Ok(is_source)
    }

    /// Reads a statement that changes a set, such as `update @seen { ip saddr }`.
    fn filling(&mut self, rule: &mut Rule) -> Result<(), Fault> {
        self.document.open(b'{')?;
        while let Some(key) = self.document.key()? {
            match (key.as_str(), self.document.kind()?) {
                ("set", Kind::Text) => {
                    let set = self.document.text()?;
                    rule.filled.push(set.strip_prefix('@').unwrap_or(&set).to_owned());
                }
                _ => self.document.skip()?,
            }
        }
        Ok(())
    }

    fn elements(&mut self, set: &Set) -> Result<(), Fault> {
        self.document.open(b'[')?;
        while self.document.has_item()? {
            let mut said = Said::default();
            self.element(0, &mut said)?;
            let span = match &said.word {
                Some(word) if set.holds == Holds::Addresses => line::target(word.as_bytes()),
                _ => Err(Reason::Kind),
            };
            let is_enough = (self.tell)(Part::Element(Element {
                line: self.document.line(),
                shown: said.word.as_deref().unwrap_or("an element"),
                span,
                set,
                left: said.expires.or(said.timeout).or(set.timeout),
                comment: said.comment.as_deref(),
            }));
            if is_enough {
                return Err(Fault::Full);
            }
        }
        Ok(())
    }

    fn element(&mut self, depth: u8, said: &mut Said) -> Result<(), Fault> {
        match self.document.kind()? {
            Kind::Text => {
                said.word = Some(self.document.text()?);
                return Ok(());
            }
            Kind::Object if depth <= DEEPEST => {}
            Kind::Object | Kind::Array | Kind::Other => return self.document.skip(),
        }
        self.document.open(b'{')?;
        while let Some(key) = self.document.key()? {
            match (key.as_str(), self.document.kind()?) {
                ("prefix", Kind::Object) => said.word = self.prefix()?,
                ("range", Kind::Array) => said.word = self.range()?,
                ("elem", Kind::Object) | ("val", _) => self.element(depth + 1, said)?,
                ("timeout", Kind::Other) => said.timeout = self.number()?,
                ("expires", Kind::Other) => said.expires = self.number()?,
                ("comment", Kind::Text) => said.comment = Some(self.document.text()?),
                _ => self.document.skip()?,
            }
        }
        Ok(())
    }

    fn number(&mut self) -> Result<Option<u64>, Fault> {
        Ok(self.document.scalar()?.parse().ok())
    }

    fn prefix(&mut self) -> Result<Option<String>, Fault> {
        let (mut address, mut length) = (None, None);
        self.document.open(b'{')?;
        while let Some(key) = self.document.key()? {
            match (key.as_str(), self.document.kind()?) {
                ("addr", Kind::Text) => address = Some(self.document.text()?),
                ("len", Kind::Other) => length = Some(self.document.scalar()?),
                _ => self.document.skip()?,
            }
        }
        Ok(address.zip(length).map(|(address, length)| format!("{address}/{length}")))
    }

    fn range(&mut self) -> Result<Option<String>, Fault> {
        let mut ends = Vec::new();
        self.document.open(b'[')?;
        while self.document.has_item()? {
            if self.document.kind()? == Kind::Text && ends.len() < 2 {
                ends.push(self.document.text()?);
            } else {
                self.document.skip()?;
            }
        }
        Ok((ends.len() == 2).then(|| ends.join("-")))
    }
}
