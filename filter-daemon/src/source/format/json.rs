//! Reads lines with one JSON object each. Spamhaus DROP ends with an object that counts the others, so a
//! truncated list is detected.

use std::fmt;

use filter_common::target::Span;
use serde::Deserializer as _;
use serde::de::{IgnoredAny, MapAccess, Visitor};

use super::{Column, Lack, ReadOptions, RowReader, allowing};
use crate::source::line::{self, Said};
use crate::source::rejected::RejectReason;
use crate::text::lines::Line;

/// The possible keys of a target, if none is configured.
const KEYS: [&str; 8] = ["cidr", "ip", "network", "prefix", "address", "ip_address", "range", "value"];

/// A key that only Spamhaus uses.
const NUMBER: &str = "sblid";

pub struct Json {
    key: Option<Column>,
    /// The number of records since the last count.
    records: u64,
    /// True if the list should end with a count.
    is_counted: bool,
    /// True if the list is meant to allow, so that objects which say so are accepted.
    allows: bool,
    lack: Option<Lack>,
}

impl Json {
    /// Prepares to read as `how` says.
    pub fn new(how: &ReadOptions) -> Self {
        Self { key: how.column.clone(), records: 0, is_counted: false, allows: how.allows, lack: None }
    }

    /// Compares the count with the records before it. A file may contain several lists with a count each.
    fn count(&mut self, said: Option<u64>) {
        let has = std::mem::take(&mut self.records);
        let wrong = said.filter(|said| *said != has).map(|said| Lack::Records { said, has });
        self.lack = self.lack.or(wrong);
    }

    fn take(&mut self, record: JsonRecord) -> Option<Result<Span, RejectReason>> {
        if record.is_metadata {
            self.count(record.count);
            return None;
        }
        self.records += 1;
        self.is_counted |= record.is_numbered;
        if record.says_allow && !self.allows {
            return Some(Err(RejectReason::Allows));
        }
        Some(record.target.map_or(Err(RejectReason::NoColumn), |target| line::target(target.as_bytes())))
    }
}

impl RowReader for Json {
    fn read<'a>(&mut self, line: &Line<'a>) -> Said<'a> {
        let mark = if line.number == 1 { line.bytes.strip_prefix("\u{feff}".as_bytes()) } else { None };
        let content = mark.unwrap_or(line.bytes).trim_ascii();
        if content.is_empty() || matches!(content[0], b'#' | b';') {
            return None;
        }
        if !line.whole {
            return Some((content, Err(RejectReason::TooLong)));
        }
        match record(content, self.key.as_ref()) {
            Some(record) => self.take(record).map(|said| (content, said)),
            None => Some((content, Err(RejectReason::Form))),
        }
    }

    fn lack(&self) -> Option<Lack> {
        let is_uncounted = self.is_counted && self.records > 0;
        self.lack.or(is_uncounted.then_some(Lack::Count))
    }
}

/// The relevant fields of an object.
#[derive(Default)]
struct JsonRecord {
    target: Option<String>,
    is_numbered: bool,
    is_metadata: bool,
    says_allow: bool,
    count: Option<u64>,
}

fn record(line: &[u8], key: Option<&Column>) -> Option<JsonRecord> {
    let mut line = serde_json::Deserializer::from_slice(line);
    let record = line.deserialize_map(Keys(key)).ok()?;
    line.end().ok().map(|()| record)
}

struct Keys<'a>(Option<&'a Column>);

impl Keys<'_> {
    /// The preference for this key as the target: lower numbers win.
    fn rank(&self, key: &str, place: usize) -> Option<usize> {
        match self.0 {
            None => KEYS.iter().position(|known| *known == key),
            Some(Column::Name(name)) => (**name == *key).then_some(0),
            Some(Column::Number(number)) => (usize::from(*number) == place).then_some(0),
        }
    }
}

impl<'de> Visitor<'de> for Keys<'_> {
    type Value = JsonRecord;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<JsonRecord, A::Error> {
        let (mut record, mut best, mut place) = (JsonRecord::default(), usize::MAX, 0);
        while let Some(key) = map.next_key::<String>()? {
            place += 1;
            record.is_numbered |= key == NUMBER;
            let rank = self.rank(&key, place).filter(|rank| *rank < best);
            let value = match (rank, key.as_str()) {
                (None, "records") | (Some(_), _) => map.next_value::<Scalar>()?,
                (None, key) if allowing::is_key(key) || allowing::is_switch(key.as_bytes()) => {
                    map.next_value::<Scalar>()?
                }
                (None, _) => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            match (rank, key.as_str(), value) {
                (Some(rank), _, Scalar::Text(text)) => (record.target, best) = (Some(text), rank),
                (None, key, Scalar::Text(text)) => {
                    record.is_metadata |= key == "type" && text == "metadata";
                    let (key, text) = (key.as_bytes(), text.as_bytes());
                    record.says_allow |= match allowing::is_switch(key) {
                        true => allowing::is_on(text),
                        false => allowing::says_so(text),
                    };
                }
                (None, "records", Scalar::Number(number)) => record.count = Some(number),
                (None, key, Scalar::Number(1) | Scalar::Bool(true)) => {
                    record.says_allow |= allowing::is_switch(key.as_bytes());
                }
                _ => {}
            }
        }
        Ok(record)
    }
}

/// A value of a type that can be used.
#[derive(serde::Deserialize)]
#[serde(untagged)]
enum Scalar {
    Text(String),
    Bool(bool),
    Number(u64),
    Other(IgnoredAny),
}
