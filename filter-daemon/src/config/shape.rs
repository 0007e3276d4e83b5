//! Converts a raw value to the required type (a map of known keys, a list or a text), or reports its actual
//! type.

use std::collections::HashMap;

use super::nearest::nearest;
use super::raw::{Node, YamlValue};
use crate::text::printable::excerpt;

/// An error in a value.
pub struct ValueFault {
    /// The number of the value.
    pub node: usize,
    pub message: String,
    pub help: Help,
    /// Whether the value is a secret, which must not be shown.
    pub is_secret: bool,
}

/// Advice for fixing a fault.
pub enum Help {
    Text(String),
    /// The number of the earlier value that this one repeats.
    Earlier(usize),
}

/// A key of a map, and the function that takes its value.
pub struct MapKey<T> {
    pub name: &'static str,
    pub take: fn(&mut ValueFaults, Node, &mut T),
}

/// All faults found so far.
#[derive(Default)]
pub struct ValueFaults(pub Vec<ValueFault>);

impl ValueFaults {
    pub fn tell(&mut self, node: usize, message: impl Into<String>, help: impl Into<String>) {
        let help = Help::Text(help.into());
        self.0.push(ValueFault { node, message: message.into(), help, is_secret: false });
    }

    /// Reports a value that is a secret. The line is shown without it.
    pub fn tell_secret(&mut self, node: usize, message: impl Into<String>, help: impl Into<String>) {
        let help = Help::Text(help.into());
        self.0.push(ValueFault { node, message: message.into(), help, is_secret: true });
    }

    /// True if the word occurs for the first time. Otherwise reports it.
    pub fn first(&mut self, said: &mut HashMap<String, usize>, word: &str, node: usize) -> bool {
        let Some(earlier) = said.get(word) else {
            said.insert(word.into(), node);
            return true;
        };
        let message = format!("`{}` is here a second time", excerpt(word));
        self.0.push(ValueFault { node, message, help: Help::Earlier(*earlier), is_secret: false });
        false
    }

    /// Passes each value of a map to its key. Returns the keys that occurred, with the numbers of their
    /// nodes.
    pub fn fields<T>(
        &mut self,
        map: Vec<(Node, Node)>,
        keys: &[MapKey<T>],
        into: &mut T,
    ) -> HashMap<String, usize> {
        let mut said = HashMap::new();
        for (name, value) in map {
            let Some(word) = self.text(name, "a key") else { continue };
            let Some(key) = keys.iter().find(|key| key.name == word.text) else {
                self.unknown_key(&word, keys.iter().map(|key| key.name).collect());
                continue;
            };
            if self.first(&mut said, &word.text, word.node) {
                (key.take)(self, value, into);
            }
        }
        said
    }

    fn unknown_key(&mut self, word: &TextValue, known: Vec<&str>) {
        let help = match nearest(&word.text, known.iter().copied()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("the keys here are {}", known.join(", ")),
        };
        self.tell(word.node, format!("unknown key `{}`", excerpt(&word.text)), help);
    }

    /// The items of a list. A key without a value counts as an empty list, because all its items may be
    /// commented out.
    pub fn items(&mut self, node: Node, what: &str) -> Vec<Node> {
        match node.value {
            YamlValue::List(items) => items,
            YamlValue::Nothing => Vec::new(),
            other @ (YamlValue::Bool(_)
            | YamlValue::Number(_)
            | YamlValue::Text(_)
            | YamlValue::Map(_)
            | YamlValue::Tagged) => {
                let help = "begin each line below with `- `, or write [a, b]";
                self.tell(node.number, format!("{what} must be a list, not {}", kind(&other)), help);
                Vec::new()
            }
        }
    }

    pub fn text(&mut self, node: Node, what: &str) -> Option<TextValue> {
        let help = match node.value {
            YamlValue::Text(text) => return Some(TextValue { node: node.number, text }),
            YamlValue::Nothing => "write a value, or remove the key",
            YamlValue::Bool(_) | YamlValue::Number(_) => "put it in quotes",
            YamlValue::List(_) | YamlValue::Map(_) => {
                "write a single word; one with `: ` or a colon at its end needs quotes"
            }
            YamlValue::Tagged => "remove the word that begins with !",
        };
        self.tell(node.number, format!("{what} must be text, not {}", kind(&node.value)), help);
        None
    }
}

/// A text and the number of its value.
pub struct TextValue {
    pub node: usize,
    pub text: String,
}

pub fn kind(value: &YamlValue) -> &'static str {
    match value {
        YamlValue::Nothing => "nothing",
        YamlValue::Bool(_) => "true or false",
        YamlValue::Number(_) => "a number",
        YamlValue::Text(_) => "text",
        YamlValue::List(_) => "a list",
        YamlValue::Map(_) => "a map of keys",
        YamlValue::Tagged => "a value with a YAML tag",
    }
}

/// Accepts true or false, and no words that only look like them.
pub fn truth(faults: &mut ValueFaults, node: Node, subject: &str, meaning: &str) -> Option<bool> {
    let help = match &node.value {
        YamlValue::Bool(truth) => return Some(*truth),
        YamlValue::Text(word) => match word.to_lowercase().as_str() {
            "yes" | "on" | "y" | "true" => "did you mean true?",
            "no" | "off" | "n" | "false" => "did you mean false?",
            _ => meaning,
        },
        YamlValue::Nothing
        | YamlValue::Number(_)
        | YamlValue::List(_)
        | YamlValue::Map(_)
        | YamlValue::Tagged => meaning,
    };
    faults.tell(node.number, format!("{subject} must be true or false, not {}", kind(&node.value)), help);
    None
}
