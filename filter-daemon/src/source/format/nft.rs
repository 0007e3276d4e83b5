//! Reads the output of `nft -j list`: one document with sets, whose elements are addresses, prefixes or
//! ranges, possibly with a timeout or a comment. It is read as a stream, so a set of any size needs no more
//! memory than its longest word.

mod document;

use std::io::{self, Read};

use filter_common::target::Span;

use self::document::{Document, DocumentError, JsonKind};
use super::Lack;
use crate::source::line;
use crate::source::rejected::RejectReason;

/// The deepest nesting of elements or commands. nft writes one level.
const DEEPEST: u8 = 4;

/// An element of a set. If it is read as part of a list, only its span is used.
pub struct Element<'a> {
    /// The line on which it ends, counted from one.
    pub line: u64,
    /// The text that is shown for it.
    pub shown: &'a str,
    /// The addresses that it names, or the error in it.
    pub span: Result<Span, RejectReason>,
    /// The set that it belongs to.
    pub set: &'a NftSet,
    /// The seconds that are left, stated by the element or its set.
    pub left: Option<u64>,
    /// The comment that an operator wrote.
    pub comment: Option<&'a str>,
}

/// A set, with the facts known before its elements: nft writes those last.
#[derive(Default)]
pub struct NftSet {
    pub name: String,
    /// The table that contains the set.
    pub table: NftTable,
    pub holds: NftContents,
    timeout: Option<u64>,
}

/// The table of a set or a rule.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct NftTable {
    /// The address family, as in `inet`.
    pub family: String,
    pub name: String,
}

impl NftTable {
    /// Family and name, in the form that `nft` accepts.
    pub fn words(&self) -> String {
        format!("{} {}", self.family, self.name).trim().to_owned()
    }
}

/// The type of a set's entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NftContents {
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
pub struct NftRule {
    pub table: NftTable,
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
    pub verdict: Option<NftVerdict>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NftVerdict {
    /// The verdict `accept`, which lets packets pass.
    Accept,
    /// The verdicts `drop` and `reject`.
    Drop,
    /// `return`, `jump` and others, after which later rules decide.
    Other,
}

/// A part of a document.
pub enum NftPart<'a> {
    Element(Element<'a>),
    /// A set, reported after its elements.
    Set(&'a NftSet),
    Rule(&'a NftRule),
}

/// Reads a document to its end and passes each part to `tell`, which returns true to stop. Returns the
/// missing part of an incomplete document.
///
/// # Errors
/// If the input cannot be read.
pub fn read(input: impl Read, tell: impl FnMut(NftPart<'_>) -> bool) -> io::Result<Option<Lack>> {
    let mut reading = NftParser { document: Document::new(input), tell };
    match reading.root() {
        Ok(()) | Err(DocumentError::Full) => Ok(None),
        Err(DocumentError::End) => Ok(Some(Lack::End)),
        Err(DocumentError::Broken) => Ok(Some(Lack::Broken { line: reading.document.line() })),
        Err(DocumentError::Input(error)) => Err(error),
    }
}

/// The content of an element. `word` is an address, prefix or range in the form of a plain list, if the
/// element is no more than that.
#[derive(Default)]
struct ElementFields {
    word: Option<String>,
    timeout: Option<u64>,
    expires: Option<u64>,
    comment: Option<String>,
}

struct NftParser<R, T> {
    document: Document<R>,
    tell: T,
}

impl<R: Read, T: FnMut(NftPart<'_>) -> bool> NftParser<R, T> {
    fn root(&mut self) -> Result<(), DocumentError> {
        self.document.skip_mark()?;
        self.document.open(b'{')?;
        while let Some(key) = self.document.key()? {
            match (key.as_str(), self.document.kind()?) {
                ("nftables", JsonKind::Array) => self.items()?,
                _ => self.document.skip()?,
            }
        }
        self.document.must_end()
    }

    fn items(&mut self) -> Result<(), DocumentError> {
        self.document.open(b'[')?;
        while self.document.next_item()? {
            self.item(0)?;
        }
        Ok(())
    }

    /// Reads a set, the elements of one, or the command that adds either.
    fn item(&mut self, depth: u8) -> Result<(), DocumentError> {
        if depth > DEEPEST || self.document.kind()? != JsonKind::Object {
            return self.document.skip();
        }
        self.document.open(b'{')?;
        while let Some(key) = self.document.key()? {
            match (key.as_str(), self.document.kind()?) {
                ("set" | "element", JsonKind::Object) => self.set(NftContents::Addresses)?,
                ("map", JsonKind::Object) => self.set(NftContents::Mappings)?,
                ("rule", JsonKind::Object) => self.rule()?,
                ("add" | "create", _) => self.item(depth + 1)?,
                _ => self.document.skip()?,
            }
        }
        Ok(())
    }

    fn set(&mut self, holds: NftContents) -> Result<(), DocumentError> {
        let mut set = NftSet { holds, ..NftSet::default() };
        self.document.open(b'{')?;
        while let Some(key) = self.document.key()? {
            match (key.as_str(), self.document.kind()?) {
                ("name", JsonKind::Text) => set.name = self.document.text()?,
                ("family", JsonKind::Text) => set.table.family = self.document.text()?,
                ("table", JsonKind::Text) => set.table.name = self.document.text()?,
                ("type", JsonKind::Text) if holds == NftContents::Addresses => {
                    let is_address = matches!(self.document.text()?.as_str(), "ipv4_addr" | "ipv6_addr");
                    set.holds = if is_address { NftContents::Addresses } else { NftContents::Other };
                }
                ("type", JsonKind::Array) if holds == NftContents::Addresses => {
                    set.holds = NftContents::Concatenations;
                    self.document.skip()?;
                }
                ("timeout", JsonKind::Other) => set.timeout = self.number()?,
                ("elem", JsonKind::Array) => self.elements(&set)?,
                _ => self.document.skip()?,
            }
        }
        if (self.tell)(NftPart::Set(&set)) { Err(DocumentError::Full) } else { Ok(()) }
    }

    fn rule(&mut self) -> Result<(), DocumentError> {
        let mut rule = NftRule::default();
        self.document.open(b'{')?;
        while let Some(key) = self.document.key()? {
            match (key.as_str(), self.document.kind()?) {
                ("family", JsonKind::Text) => rule.table.family = self.document.text()?,
                ("table", JsonKind::Text) => rule.table.name = self.document.text()?,
                ("expr", JsonKind::Array) => {
                    self.document.open(b'[')?;
                    while self.document.next_item()? {
                        self.expression(&mut rule)?;
                    }
                }
                _ => self.document.skip()?,
            }
        }
        if (self.tell)(NftPart::Rule(&rule)) { Err(DocumentError::Full) } else { Ok(()) }
    }

    /// Reads a match or a statement of a rule.
    fn expression(&mut self, rule: &mut NftRule) -> Result<(), DocumentError> {
        if self.document.kind()? != JsonKind::Object {
            return self.document.skip();
        }
        self.document.open(b'{')?;
        while let Some(key) = self.document.key()? {
            let verdict = match (key.as_str(), self.document.kind()?) {
                ("match", JsonKind::Object) => {
                    self.matching(rule)?;
                    continue;
                }
                ("set", JsonKind::Object) => {
                    self.filling(rule)?;
                    continue;
                }
                ("accept", _) => Some(NftVerdict::Accept),
                ("drop" | "reject", _) => Some(NftVerdict::Drop),
                ("return" | "jump" | "goto" | "queue" | "vmap", _) => Some(NftVerdict::Other),
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

    fn matching(&mut self, rule: &mut NftRule) -> Result<(), DocumentError> {
        let (mut is_negated, mut is_source, mut set) = (false, false, None);
        self.document.open(b'{')?;
        while let Some(key) = self.document.key()? {
            match (key.as_str(), self.document.kind()?) {
                ("op", JsonKind::Text) => is_negated = self.document.text()? == "!=",
                ("left", JsonKind::Object) => is_source = self.parse_match_left()?,
                ("right", JsonKind::Text) => {
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
    fn parse_match_left(&mut self) -> Result<bool, DocumentError> {
        let mut is_source = false;
        self.document.open(b'{')?;
        while let Some(key) = self.document.key()? {
            match (key.as_str(), self.document.kind()?) {
                ("payload", JsonKind::Object) => {
                    self.document.open(b'{')?;
                    while let Some(key) = self.document.key()? {
                        match (key.as_str(), self.document.kind()?) {
                            ("field", JsonKind::Text) => is_source = self.document.text()? == "saddr",
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
    fn filling(&mut self, rule: &mut NftRule) -> Result<(), DocumentError> {
        self.document.open(b'{')?;
        while let Some(key) = self.document.key()? {
            match (key.as_str(), self.document.kind()?) {
                ("set", JsonKind::Text) => {
                    let set = self.document.text()?;
                    rule.filled.push(set.strip_prefix('@').unwrap_or(&set).to_owned());
                }
                _ => self.document.skip()?,
            }
        }
        Ok(())
    }

    fn elements(&mut self, set: &NftSet) -> Result<(), DocumentError> {
        self.document.open(b'[')?;
        while self.document.next_item()? {
            let mut said = ElementFields::default();
            self.element(0, &mut said)?;
            let span = match &said.word {
                Some(word) if set.holds == NftContents::Addresses => line::target(word.as_bytes()),
                _ => Err(RejectReason::Kind),
            };
            let is_enough = (self.tell)(NftPart::Element(Element {
                line: self.document.line(),
                shown: said.word.as_deref().unwrap_or("an element"),
                span,
                set,
                left: said.expires.or(said.timeout).or(set.timeout),
                comment: said.comment.as_deref(),
            }));
            if is_enough {
                return Err(DocumentError::Full);
            }
        }
        Ok(())
    }

    fn element(&mut self, depth: u8, said: &mut ElementFields) -> Result<(), DocumentError> {
        match self.document.kind()? {
            JsonKind::Text => {
                said.word = Some(self.document.text()?);
                return Ok(());
            }
            JsonKind::Object if depth <= DEEPEST => {}
            JsonKind::Object | JsonKind::Array | JsonKind::Other => return self.document.skip(),
        }
        self.document.open(b'{')?;
        while let Some(key) = self.document.key()? {
            match (key.as_str(), self.document.kind()?) {
                ("prefix", JsonKind::Object) => said.word = self.prefix()?,
                ("range", JsonKind::Array) => said.word = self.range()?,
                ("elem", JsonKind::Object) | ("val", _) => self.element(depth + 1, said)?,
                ("timeout", JsonKind::Other) => said.timeout = self.number()?,
                ("expires", JsonKind::Other) => said.expires = self.number()?,
                ("comment", JsonKind::Text) => said.comment = Some(self.document.text()?),
                _ => self.document.skip()?,
            }
        }
        Ok(())
    }

    fn number(&mut self) -> Result<Option<u64>, DocumentError> {
        Ok(self.document.scalar()?.parse().ok())
    }

    fn prefix(&mut self) -> Result<Option<String>, DocumentError> {
        let (mut address, mut length) = (None, None);
        self.document.open(b'{')?;
        while let Some(key) = self.document.key()? {
            match (key.as_str(), self.document.kind()?) {
                ("addr", JsonKind::Text) => address = Some(self.document.text()?),
                ("len", JsonKind::Other) => length = Some(self.document.scalar()?),
                _ => self.document.skip()?,
            }
        }
        Ok(address.zip(length).map(|(address, length)| format!("{address}/{length}")))
    }

    fn range(&mut self) -> Result<Option<String>, DocumentError> {
        let mut ends = Vec::new();
        self.document.open(b'[')?;
        while self.document.next_item()? {
            if self.document.kind()? == JsonKind::Text && ends.len() < 2 {
                ends.push(self.document.text()?);
            } else {
                self.document.skip()?;
            }
        }
        Ok((ends.len() == 2).then(|| ends.join("-")))
    }
}
