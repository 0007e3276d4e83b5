//! The raw values of a YAML document, before they are checked.
//!
//! Every value has a number, which is its position in the order of the document. [`start`] finds the text of
//! a value by its number.

use std::fmt;

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, IgnoredAny, MapAccess, SeqAccess, VariantAccess,
    Visitor,
};

pub struct Node {
    pub number: usize,
    pub value: YamlValue,
}

impl Node {
    /// The items of a list. Any other value counts as the only item.
    pub fn one_or_several(self) -> Vec<Self> {
        let Self { number, value } = self;
        match value {
            YamlValue::List(items) => items,
            value @ (YamlValue::Nothing
            | YamlValue::Bool(_)
            | YamlValue::Number(_)
            | YamlValue::Text(_)
            | YamlValue::Map(_)
            | YamlValue::Tagged) => vec![Self { number, value }],
        }
    }
}

/// A value with the type that YAML gives it.
pub enum YamlValue {
    Nothing,
    Bool(bool),
    /// A whole number that is not negative. None for any other number.
    Number(Option<u64>),
    Text(String),
    List(Vec<Node>),
    Map(Vec<(Node, Node)>),
    Tagged,
}

/// Many times more than the largest file has without aliases, which can repeat a part of it endlessly.
const MOST_VALUES: usize = 1 << 19;

pub fn read(text: &str) -> Result<Node, serde_yaml::Error> {
    Reader { next: 0, stop: None }.deserialize(serde_yaml::Deserializer::from_str(text))
}

/// The offset of the first byte of the value with that number.
///
/// The parser reports a position only with an error, so the document is read again up to that value.
pub fn start(text: &str, number: usize) -> Option<usize> {
    let mut reader = Reader { next: 0, stop: Some(number) };
    let stopped = reader.deserialize(serde_yaml::Deserializer::from_str(text)).err()?;
    stopped.location().map(|location| location.index())
}

struct Reader {
    next: usize,
    stop: Option<usize>,
}

impl Reader {
    fn number<E: Error>(&mut self) -> Result<usize, E> {
        let number = self.next;
        self.next += 1;
        if self.stop == Some(number) {
            return Err(E::custom("the value looked for"));
        }
        if number >= MOST_VALUES {
            return Err(E::custom("too many values"));
        }
        Ok(number)
    }

    fn node<E: Error>(&mut self, value: YamlValue) -> Result<Node, E> {
        Ok(Node { number: self.number()?, value })
    }

    fn deserialize<'de, D: Deserializer<'de>>(&mut self, document: D) -> Result<Node, D::Error> {
        DeserializeSeed::deserialize(self, document)
    }
}

impl<'de> DeserializeSeed<'de> for &mut Reader {
    type Value = Node;

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<Node, D::Error> {
        value.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &mut Reader {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_none<E: Error>(self) -> Result<Node, E> {
        self.node(YamlValue::Nothing)
    }

    fn visit_unit<E: Error>(self) -> Result<Node, E> {
        self.node(YamlValue::Nothing)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Node, E> {
        self.node(YamlValue::Bool(value))
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Node, E> {
        self.node(YamlValue::Number(None))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Node, E> {
        self.node(YamlValue::Number(Some(number)))
    }

    fn visit_i128<E: Error>(self, _: i128) -> Result<Node, E> {
        self.node(YamlValue::Number(None))
    }

    fn visit_u128<E: Error>(self, _: u128) -> Result<Node, E> {
        self.node(YamlValue::Number(None))
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Node, E> {
        self.node(YamlValue::Number(None))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Node, E> {
        self.node(YamlValue::Text(text.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Node, A::Error> {
        let number = self.number()?;
        let mut items = Vec::new();
        while let Some(item) = list.next_element_seed(&mut *self)? {
            items.push(item);
        }
        Ok(Node { number, value: YamlValue::List(items) })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let number = self.number()?;
        let mut entries = Vec::new();
        while let Some(key) = map.next_key_seed(&mut *self)? {
            entries.push((key, map.next_value_seed(&mut *self)?));
        }
        Ok(Node { number, value: YamlValue::Map(entries) })
    }

    fn visit_enum<A: EnumAccess<'de>>(self, tagged: A) -> Result<Node, A::Error> {
        let number = self.number()?;
        let (IgnoredAny, value) = tagged.variant()?;
        let IgnoredAny = value.newtype_variant()?;
        Ok(Node { number, value: YamlValue::Tagged })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_found_where_it_stands() {
        let text = "é: [ü, 'x', 1.5]\nmap:\n  - {a: &b true}\n  - !tag y\n  - *b\n  -\n";
        let found: Vec<String> = (0..)
            .map_while(|number| start(text, number))
            .map(|start| text[start..].chars().take(2).collect())
            .collect();
        let expected = ["é:", "é:", "[ü", "ü,", "'x", "1.", "ma", "- ", "{a", "a:", "&b", "!t", "&b", "\n"];
        assert_eq!(found, expected);
    }
}
