//! Reads the JSON answer of LAPI to a request for decisions (`/v1/decisions/stream`).
//!
//! Each decision is converted as soon as it is read, because an answer can have hundreds of thousands.

mod error;

use std::fmt;
use std::io::{BufReader, Read};

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, de};

use super::decision::{Decision, RawDecision, RejectedDecision, SharedStrings};
use super::loose_value::LooseValue;
use crate::blocklist::Timestamp;
pub use error::AnswerError;

/// The first bytes, which show whether the answer is JSON.
const BEGINNING: u64 = 256;

/// The bytes that are read at once.
const BUFFER: usize = 64 << 10;

/// The most names of unknown fields that an error shows.
const MOST_NAMES: usize = 4;

/// What LAPI says about its decisions.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct StreamAnswer {
    /// Decisions that were made, or all decisions.
    pub new: Vec<Decision>,
    /// The IDs of decisions that ended.
    pub deleted: Vec<u64>,
    /// What the answer had besides.
    pub skipped: Skipped,
}

/// The items of an answer that were left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// Items of other types than the accepted ones, and simulated ones.
    pub by_type: u64,
    /// Items with a scope that packets do not have.
    pub by_scope: u64,
    /// Items with a missing or wrong field.
    pub malformed: u64,
    /// Ranges that are a large part of the internet.
    pub too_wide: u64,
    /// What is wrong with the first malformed item.
    pub example: Option<String>,
}

/// Reads a whole answer. Decisions count if they have one of these `types`; letter case does not matter.
///
/// # Errors
/// If the answer is cut, is no such answer, or has more than `most` new decisions.
pub fn read(
    mut from: impl Read,
    types: &[String],
    now: Timestamp,
    most: usize,
) -> Result<StreamAnswer, AnswerError> {
    let mut beginning = Vec::new();
    from.by_ref().take(BEGINNING).read_to_end(&mut beginning).map_err(AnswerError::Read)?;
    match beginning.trim_ascii_start() {
        [] => return Err(AnswerError::Empty),
        [b'{', ..] => {}
        other => return Err(AnswerError::begins_with(other)),
    }
    let mut reader = AnswerReader::new(types, now, most);
    let bytes = BufReader::with_capacity(BUFFER, beginning.chain(from));
    let mut json = serde_json::Deserializer::from_reader(bytes);
    let read = json.deserialize_map(&mut reader).and_then(|()| json.end());
    reader.finish(read)
}

/// Collects what an answer says.
struct AnswerReader<'a> {
    types: &'a [String],
    now: Timestamp,
    most: usize,
    answer: StreamAnswer,
    strings: SharedStrings,
    /// The items of `new` so far.
    items: usize,
    /// Whether there was a list of decisions.
    has_list: bool,
    /// The text of a `message` instead.
    message: Option<String>,
    /// The names of other fields.
    names: Vec<String>,
}

impl<'a> AnswerReader<'a> {
    fn new(types: &'a [String], now: Timestamp, most: usize) -> Self {
        let (answer, strings) = (StreamAnswer::default(), SharedStrings::default());
        Self {
            types,
            now,
            most,
            answer,
            strings,
            items: 0,
            has_list: false,
            message: None,
            names: Vec::new(),
        }
    }

    /// The answer, or why there is none.
    fn finish(self, read: serde_json::Result<()>) -> Result<StreamAnswer, AnswerError> {
        match read {
            Err(_) if self.items > self.most => Err(AnswerError::TooMany(self.most)),
            Err(error) => Err(AnswerError::of(error)),
            Ok(()) if self.has_list => Ok(self.answer),
            Ok(()) => Err(match self.message {
                Some(message) => AnswerError::Message(message),
                None => AnswerError::NoList(self.names),
            }),
        }
    }

    fn add_new(&mut self, item: &RawDecision) {
        let skipped = &mut self.answer.skipped;
        match item.check(self.types, self.now, &mut self.strings) {
            Ok(decision) => self.answer.new.push(decision),
            Err(RejectedDecision::Type) => skipped.by_type += 1,
            Err(RejectedDecision::Scope) => skipped.by_scope += 1,
            Err(RejectedDecision::Malformed(fault)) => {
                skipped.malformed += 1;
                skipped.example.get_or_insert(fault);
            }
        }
    }

    fn add_deleted(&mut self, item: &DeletedDecision) {
        match item.id.number() {
            Some(id) => self.answer.deleted.push(id),
            None => {
                self.answer.skipped.malformed += 1;
                self.answer.skipped.example.get_or_insert_with(|| "a deleted decision has no ID".to_owned());
            }
        }
    }
}

impl<'de> Visitor<'de> for &mut AnswerReader<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        while let Some(name) = fields.next_key::<String>()? {
            match name.as_str() {
                "new" => fields.next_value_seed(NewDecisions(self))?,
                "deleted" => fields.next_value_seed(DeletedDecisions(self))?,
                "message" => self.message = Some(fields.next_value::<LooseValue>()?.text().to_owned()),
                _ => {
                    fields.next_value::<IgnoredAny>()?;
                    if self.names.len() < MOST_NAMES {
                        self.names.push(name);
                    }
                }
            }
        }
        Ok(())
    }
}

/// Reads the value of `new`, which may be null.
struct NewDecisions<'a, 'b>(&'a mut AnswerReader<'b>);

impl<'de> DeserializeSeed<'de> for NewDecisions<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        self.0.has_list = true;
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for NewDecisions<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of decisions")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while let Some(item) = items.next_element::<RawDecision>()? {
            self.0.items += 1;
            if self.0.items > self.0.most {
                return Err(A::Error::custom("too many decisions"));
            }
            self.0.add_new(&item);
        }
        Ok(())
    }
}

/// Reads the value of `deleted`, which may be null.
struct DeletedDecisions<'a, 'b>(&'a mut AnswerReader<'b>);

/// An item of `deleted`, of which the ID suffices.
#[derive(Default, Deserialize)]
#[serde(default)]
struct DeletedDecision {
    id: LooseValue,
}

impl<'de> DeserializeSeed<'de> for DeletedDecisions<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        self.0.has_list = true;
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for DeletedDecisions<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of deleted decisions")
    }

    fn visit_unit<E: de::Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while let Some(item) = items.next_element::<DeletedDecision>()? {
            self.0.add_deleted(&item);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
