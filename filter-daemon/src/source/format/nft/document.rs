//! Reads a JSON document as a stream of words. Only the current word is kept in memory.

use std::io::{self, BufReader, Read};

/// Longer words are truncated. No address has so many characters, and no comment of nft so many bytes,
/// escaped or not.
const LONGEST: usize = 1024;

/// A document that is being read.
pub struct Document<R> {
    bytes: io::Bytes<BufReader<R>>,
    ahead: Option<u8>,
    line: u64,
    /// True after a value, when a comma or a closing bracket must follow.
    is_behind: bool,
}

/// The reason why reading stops before the end of the document.
#[derive(Debug)]
pub enum DocumentError {
    /// The input ends too early.
    End,
    /// The input is not valid JSON.
    Broken,
    /// The caller wants no more.
    Full,
    /// The input cannot be read.
    Input(io::Error),
}

/// The kind of the next value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum JsonKind {
    Text,
    Object,
    Array,
    Other,
}

impl<R: Read> Document<R> {
    pub fn new(input: R) -> Self {
        Self {
            bytes: BufReader::with_capacity(64 * 1024, input).bytes(),
            ahead: None,
            line: 1,
            is_behind: false,
        }
    }

    /// The line that is being read, counted from one.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// The kind of the next value, without reading it.
    pub fn kind(&mut self) -> Result<JsonKind, DocumentError> {
        Ok(match self.next()? {
            b'"' => JsonKind::Text,
            b'{' => JsonKind::Object,
            b'[' => JsonKind::Array,
            _ => JsonKind::Other,
        })
    }

    /// Begins an object or array.
    pub fn open(&mut self, bracket: u8) -> Result<(), DocumentError> {
        self.expect(bracket)?;
        self.is_behind = false;
        Ok(())
    }

    /// Skips the byte order mark that some editors write at the beginning.
    pub fn skip_mark(&mut self) -> Result<(), DocumentError> {
        for byte in "\u{feff}".bytes() {
            if self.peek()? == byte {
                self.take()?;
            }
        }
        Ok(())
    }

    /// The next key of the open object. None at its end.
    pub fn key(&mut self) -> Result<Option<String>, DocumentError> {
        if self.take_end(b'}')? {
            return Ok(None);
        }
        let key = self.text()?;
        self.expect(b':')?;
        self.is_behind = false;
        Ok(Some(key))
    }

    /// True if the open array has another item.
    pub fn next_item(&mut self) -> Result<bool, DocumentError> {
        Ok(!self.take_end(b']')?)
    }

    /// Reads a text, truncated to the longest useful length.
    pub fn text(&mut self) -> Result<String, DocumentError> {
        self.expect(b'"')?;
        let (mut text, mut is_escaped) = (Vec::new(), false);
        loop {
            let byte = self.take()?;
            if byte == b'"' {
                break;
            }
            let after = if byte == b'\\' { Some(self.take()?) } else { None };
            is_escaped |= after.is_some();
            if text.len() < LONGEST {
                text.extend([byte].into_iter().chain(after));
            }
        }
        self.is_behind = true;
        let plain = if is_escaped { unescaped(&text) } else { None };
        Ok(plain.unwrap_or_else(|| String::from_utf8_lossy(&text).into_owned()))
    }

    /// Reads a number, or a word without quotes.
    pub fn scalar(&mut self) -> Result<String, DocumentError> {
        let mut scalar = String::new();
        while matches!(self.peek()?, b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'+' | b'-' | b'.') {
            let byte = self.take()?;
            if scalar.len() < LONGEST {
                scalar.push(char::from(byte));
            }
        }
        self.is_behind = true;
        if scalar.is_empty() { Err(DocumentError::Broken) } else { Ok(scalar) }
    }

    /// Skips a value of any depth.
    pub fn skip(&mut self) -> Result<(), DocumentError> {
        let mut open: u64 = 0;
        loop {
            match self.next()? {
                b'"' => _ = self.text()?,
                b'{' | b'[' => {
                    open += 1;
                    self.take()?;
                }
                b'}' | b']' => {
                    open = open.checked_sub(1).ok_or(DocumentError::Broken)?;
                    self.take()?;
                }
                b',' | b':' if open > 0 => _ = self.take()?,
                _ => _ = self.scalar()?,
            }
            if open == 0 {
                self.is_behind = true;
                return Ok(());
            }
        }
    }

    /// Requires that nothing follows.
    pub fn must_end(&mut self) -> Result<(), DocumentError> {
        match self.next() {
            Err(DocumentError::End) => Ok(()),
            Ok(_) => Err(DocumentError::Broken),
            Err(fault) => Err(fault),
        }
    }

    fn take_end(&mut self, bracket: u8) -> Result<bool, DocumentError> {
        if self.next()? == bracket {
            self.take()?;
            self.is_behind = true;
            return Ok(true);
        }
        if self.is_behind {
            self.expect(b',')?;
            self.is_behind = false;
        }
        Ok(false)
    }

    fn expect(&mut self, byte: u8) -> Result<(), DocumentError> {
        if self.next()? != byte {
            return Err(DocumentError::Broken);
        }
        self.take().map(|_| ())
    }

    /// The next byte that is not a blank, without consuming it.
    fn next(&mut self) -> Result<u8, DocumentError> {
        while self.peek()?.is_ascii_whitespace() {
            self.take()?;
        }
        self.peek()
    }

    fn peek(&mut self) -> Result<u8, DocumentError> {
        if self.ahead.is_none() {
            self.ahead = Some(self.bytes.next().ok_or(DocumentError::End)?.map_err(DocumentError::Input)?);
        }
        self.ahead.ok_or(DocumentError::End)
    }

    fn take(&mut self) -> Result<u8, DocumentError> {
        let byte = self.peek()?;
        self.ahead = None;
        self.line += u64::from(byte == b'\n');
        Ok(byte)
    }
}

/// The text between quotes with its escapes decoded.
fn unescaped(text: &[u8]) -> Option<String> {
    serde_json::from_slice(&[b"\"", text, b"\""].concat()).ok()
}
