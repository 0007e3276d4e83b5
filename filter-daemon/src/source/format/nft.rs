//! What `nft -j list set` writes: one document, whose sets have elements that are addresses, prefixes or ranges, perhaps with a
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

/// Reads a document to its end, tells each element (its line, what is shown of it, what it names) until `tell` says that it is
/// enough, and says what is missing.
///
/// # Errors
/// When the input fails.
pub fn read(
    input: impl Read,
    tell: impl FnMut(u64, &[u8], Result<Span, Reason>) -> bool,
) -> io::Result<Option<Lack>> {
    let mut reading = Reading { document: Document::new(input), tell };
    match reading.root() {
        Ok(()) | Err(Fault::Full) => Ok(None),
        Err(Fault::End) => Ok(Some(Lack::End)),
        Err(Fault::Broken) => Ok(Some(Lack::Broken { line: reading.document.line() })),
        Err(Fault::Input(error)) => Err(error),
    }
}

struct Reading<R, T> {
    document: Document<R>,
    tell: T,
}

impl<R: Read, T: FnMut(u64, &[u8], Result<Span, Reason>) -> bool> Reading<R, T> {
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
        let mut holds_addresses = true;
        self.document.open(b'{')?;
        while let Some(key) = self.document.key()? {
            match (key.as_str(), self.document.kind()?) {
                ("type", Kind::Text) => {
                    holds_addresses = matches!(self.document.text()?.as_str(), "ipv4_addr" | "ipv6_addr");
                }
                ("type", Kind::Array) => {
                    holds_addresses = false;
                    self.document.skip()?;
                }
                ("elem", Kind::Array) => self.elements(holds_addresses)?,
                _ => self.document.skip()?,
            }
        }
        Ok(())
    }

    fn elements(&mut self, are_addresses: bool) -> Result<(), Fault> {
        self.document.open(b'[')?;
        while self.document.has_item()? {
            let word = self.element(0)?;
            let said = match &word {
                Some(word) if are_addresses => line::target(word.as_bytes()),
                _ => Err(Reason::Kind),
            };
            let shown = word.as_deref().unwrap_or("an element");
            if (self.tell)(self.document.line(), shown.as_bytes(), said) {
                return Err(Fault::Full);
            }
        }
        Ok(())
    }

    /// An address, prefix or range, as it would stand in a list; none if it is more than that.
    fn element(&mut self, depth: u8) -> Result<Option<String>, Fault> {
        match self.document.kind()? {
            Kind::Text => return self.document.text().map(Some),
            Kind::Object if depth <= DEEPEST => {}
            Kind::Object | Kind::Array | Kind::Other => return self.document.skip().map(|()| None),
        }
        let mut word = None;
        self.document.open(b'{')?;
        while let Some(key) = self.document.key()? {
            word = match (key.as_str(), self.document.kind()?) {
                ("prefix", Kind::Object) => self.prefix()?,
                ("range", Kind::Array) => self.range()?,
                ("elem", Kind::Object) | ("val", _) => self.element(depth + 1)?,
                _ => {
                    self.document.skip()?;
                    word
                }
            };
        }
        Ok(word)
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
