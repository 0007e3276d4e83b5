//! Many short strings in two allocations: a message carries thousands of targets as text.

use std::fmt::{self, Display, Write as _};

use serde::de::{DeserializeSeed, Deserializer, Error, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

/// Strings that lie one behind the other; on the wire, an array of strings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Strings {
    text: String,
    ends: Vec<usize>,
}

impl Strings {
    /// Returns the number of strings.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether there are no strings.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Adds one string at the end.
    pub fn push(&mut self, string: impl Display) {
        write!(self.text, "{string}").expect("a string takes whatever is written into it");
        self.end();
    }

    /// Returns all strings in their order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        let mut begin = 0;
        self.ends.iter().map(move |&end| &self.text[std::mem::replace(&mut begin, end)..end])
    }

    fn end(&mut self) {
        self.ends.push(self.text.len());
    }
}

impl<S: Display> FromIterator<S> for Strings {
    fn from_iter<I: IntoIterator<Item = S>>(strings: I) -> Self {
        let mut all = Self::default();
        strings.into_iter().for_each(|string| all.push(string));
        all
    }
}

impl Serialize for Strings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Strings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Array)
    }
}

/// Reads an array of strings.
struct Array;

impl<'de> Visitor<'de> for Array {
    type Value = Strings;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an array of strings")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<Strings, A::Error> {
        let mut strings = Strings::default();
        while array.next_element_seed(One(&mut strings))?.is_some() {}
        Ok(strings)
    }
}

/// Reads one string and adds it to the others.
struct One<'a>(&'a mut Strings);

impl<'de> DeserializeSeed<'de> for One<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for One<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a string")
    }

    fn visit_str<E: Error>(self, string: &str) -> Result<(), E> {
        self.0.text.push_str(string);
        self.0.end();
        Ok(())
    }
}

#[cfg(test)]
impl schemars::JsonSchema for Strings {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        Vec::<String>::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Vec::<String>::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn they_travel_like_an_array_of_strings(words: Vec<String>) {
            let strings: Strings = words.iter().collect();
            let text = serde_json::to_string(&words).unwrap();
            prop_assert_eq!(serde_json::to_string(&strings).unwrap(), text.clone());
            let back: Strings = serde_json::from_str(&text).unwrap();
            prop_assert!(back.iter().eq(words.iter().map(String::as_str)));
            prop_assert_eq!(back.len(), words.len());
        }
    }

    #[test]
    fn other_values_are_no_string_array() {
        for (text, fault) in
            [("7", "an array of strings"), ("[\"a\",7]", "expected a string"), ("[[]]", "a string")]
        {
            let error = serde_json::from_str::<Strings>(text).unwrap_err().to_string();
            assert!(error.contains(fault), "{text}: {error}");
        }
    }
}
