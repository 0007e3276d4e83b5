//! A JSON value of any type, so that one odd field does not make a whole answer unreadable.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// The value of a field, as far as a decision can use it.
#[derive(Debug, Default, PartialEq, Eq)]
pub enum LooseValue {
    /// A missing field, null, or a value of another type.
    #[default]
    Other,
    Text(String),
    Number(u64),
    Flag(bool),
}

impl LooseValue {
    /// The text, which is empty for other types.
    pub fn text(&self) -> &str {
        if let Self::Text(text) = self { text } else { "" }
    }

    /// The number, if it is a whole one that is not negative.
    pub const fn number(&self) -> Option<u64> {
        if let Self::Number(number) = self { Some(*number) } else { None }
    }
}

impl<'de> Deserialize<'de> for LooseValue {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(LooseVisitor)
    }
}

struct LooseVisitor;

impl<'de> Visitor<'de> for LooseVisitor {
    type Value = LooseValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, flag: bool) -> Result<LooseValue, E> {
        Ok(LooseValue::Flag(flag))
    }

    fn visit_u64<E>(self, number: u64) -> Result<LooseValue, E> {
        Ok(LooseValue::Number(number))
    }

    fn visit_i64<E>(self, _: i64) -> Result<LooseValue, E> {
        Ok(LooseValue::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<LooseValue, E> {
        Ok(LooseValue::Other)
    }

    fn visit_str<E>(self, text: &str) -> Result<LooseValue, E> {
        Ok(LooseValue::Text(text.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<LooseValue, E> {
        Ok(LooseValue::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<LooseValue, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(LooseValue::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<LooseValue, A::Error> {
        while fields.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(LooseValue::Other)
    }
}
