//! What `nft -j list` writes: one document, whose sets have elements that are addresses, prefixes or ranges, perhaps with a
//! timeout or a comment. It is read as it comes: a set of any size takes no more room than its longest word.

mod document;

use std::io::{self, Read};

use filter_common::target::Span;

use self::document::{Document, Fault, Kind};
use super::Lack;
use crate::source::line;
use crate::source::rejected::Reason;

/// An element within an element, or a command within a command: nft writes one.
const DEEPEST: u8 = 4;

/// An element of a set. What is read as a list is asked for its span alone.
pub struct Element<'a> {
    /// The line that it ends on, counted from one.
    pub line: u64,
    /// What is shown of it.
    pub shown: &'a str,
    /// What it names, or what is wrong with that.
    pub span: Result<Span, Reason>,
    /// The set that it is of.
    pub set: &'a Set,
    /// Seconds that are left, by its own word or by its set's.
    pub left: Option<u64>,
    /// What somebody wrote beside it.
    pub comment: Option<&'a str>,
}

/// A set, as far as it is known when its elements come: nft writes them last.
#[derive(Default)]
pub struct Set {
    /// Its name.
    pub name: String,
    /// Does it hold more than addresses, or something else?
    pub holds_more: bool,
    timeout: Option<u64>,
}

/// Reads a document to its end, tells each element until `tell` says that it is enough, and says what is missing.
///
/// # Errors
/// When the input fails.
pub fn read(input: impl Read, tell: impl FnMut(Element<'_>) -> bool) -> io::Result<Option<Lack>> {
    let mut reading = Reading { document: Document::new(input), tell };
    match reading.root() {
        Ok(()) | Err(Fault::Full) => Ok(None),
        Err(Fault::End) => Ok(Some(Lack::End)),
        Err(Fault::Broken) => Ok(Some(Lack::Broken { line: reading.document.line() })),
        Err(Fault::Input(error)) => Err(error),
    }
}

/// What an element says: an address, prefix or range, as it would stand in a list, if it is no more than that.
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

impl<R: Read, T: FnMut(Element<'_>) -> bool> Reading<R, T> {
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

    /// A set, elements of one, or the command to add either.
    fn item(&mut self, depth: u8) -> Result<(), Fault> {
        if depth > DEEPEST || self.document.kind()? != Kind::Object {
            return self.document.skip();
        }
        self.document.open(b'{')?;
        while let Some(key) = self.document.key()? {
            match (key.as_str(), self.document.kind()?) {
                ("set" | "element", Kind::Object) => self.set()?,
                ("add" | "create", _) => self.item(depth + 1)?,
                _ => self.document.skip()?,
            }
        }
        Ok(())
    }

    fn set(&mut self) -> Result<(), Fault> {
        let mut set = Set::default();
        self.document.open(b'{')?;
        while let Some(key) = self.document.key()? {
            match (key.as_str(), self.document.kind()?) {
                ("name", Kind::Text) => set.name = self.document.text()?,
                ("type", Kind::Text) => {
                    set.holds_more = !matches!(self.document.text()?.as_str(), "ipv4_addr" | "ipv6_addr");
                }
                ("type", Kind::Array) => {
                    set.holds_more = true;
                    self.document.skip()?;
                }
                ("timeout", Kind::Other) => set.timeout = self.number()?,
                ("elem", Kind::Array) => self.elements(&set)?,
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
                Some(word) if !set.holds_more => line::target(word.as_bytes()),
                _ => Err(Reason::Kind),
            };
            let is_enough = (self.tell)(Element {
                line: self.document.line(),
                shown: said.word.as_deref().unwrap_or("an element"),
                span,
                set,
                left: said.expires.or(said.timeout).or(set.timeout),
                comment: said.comment.as_deref(),
            });
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
