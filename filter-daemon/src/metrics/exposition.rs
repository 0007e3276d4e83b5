//! The text format of Prometheus, version 0.0.4: a line what a family is, a line a series. A family without series is not told.

use std::fmt::{Display, Write};

/// What a family's numbers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Counter,
    Gauge,
    Histogram,
}

impl Kind {
    /// The format's word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// A label and its value.
pub type Label<'a> = (&'static str, &'a str);

/// The text so far.
#[derive(Default)]
pub struct Exposition {
    text: String,
    name: &'static str,
    /// What the family is, until its first series is told.
    head: String,
}

impl Exposition {
    /// What follows is of this family.
    pub fn begin(&mut self, name: &'static str, kind: Kind, help: &str) {
        self.name = name;
        self.head = format!("# HELP {name} {help}\n# TYPE {name} {}\n", kind.word());
    }

    /// One series.
    pub fn tell(&mut self, labels: &[Label<'_>], value: impl Display) {
        self.tell_as("", labels, value);
    }

    /// The only one.
    pub fn alone(&mut self, value: impl Display) {
        self.tell(&[], value);
    }

    /// One, if it is known.
    pub fn known(&mut self, labels: &[Label<'_>], value: Option<impl Display>) {
        value.into_iter().for_each(|value| self.tell(labels, value));
    }

    /// One whose name goes on.
    pub fn tell_as(&mut self, suffix: &str, labels: &[Label<'_>], value: impl Display) {
        self.text.push_str(&std::mem::take(&mut self.head));
        self.text.push_str(self.name);
        self.text.push_str(suffix);
        let mut before = '{';
        for (label, value) in labels {
            self.text.push(before);
            self.text.push_str(label);
            self.text.push_str("=\"");
            self.escape(value);
            self.text.push('"');
            before = ',';
        }
        if !labels.is_empty() {
            self.text.push('}');
        }
        writeln!(self.text, " {value}").expect("a string takes whatever it is told");
    }

    /// Names of lists are whatever somebody has chosen.
    fn escape(&mut self, value: &str) {
        for letter in value.chars() {
            match letter {
                '\\' => self.text.push_str(r"\\"),
                '"' => self.text.push_str("\\\""),
                '\n' => self.text.push_str(r"\n"),
                other => self.text.push(other),
            }
        }
    }
}

impl From<Exposition> for String {
    fn from(exposition: Exposition) -> Self {
        exposition.text
    }
}
