//! Writes the text format of Prometheus, version 0.0.4: two lines describe a family, then comes one line per series.
//! A family without series is left out.

use std::fmt::{Display, Write};

/// The kind of a family's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    Counter,
    Gauge,
    Histogram,
}

impl MetricKind {
    /// The word of the text format for this kind.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// The name and the value of a label.
pub type SeriesLabel<'a> = (&'static str, &'a str);

/// The text that is written so far.
#[derive(Default)]
pub struct Exposition {
    text: String,
    name: &'static str,
    /// The description of the family, until its first series is written.
    head: String,
}

impl Exposition {
    /// Begins a family; the series that follow belong to it.
    pub fn begin(&mut self, name: &'static str, kind: MetricKind, help: &str) {
        self.name = name;
        self.head = format!("# HELP {name} {help}\n# TYPE {name} {}\n", kind.word());
    }

    /// Writes one series of the family.
    pub fn tell(&mut self, labels: &[SeriesLabel<'_>], value: impl Display) {
        self.tell_as("", labels, value);
    }

    /// Writes a series without labels.
    pub fn alone(&mut self, value: impl Display) {
        self.tell(&[], value);
    }

    /// Writes one series if its value is known.
    pub fn known(&mut self, labels: &[SeriesLabel<'_>], value: Option<impl Display>) {
        value.into_iter().for_each(|value| self.tell(labels, value));
    }

    /// Writes one series with a suffix to its name.
    pub fn tell_as(&mut self, suffix: &str, labels: &[SeriesLabel<'_>], value: impl Display) {
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

    /// Names in labels may contain characters that the format reserves.
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
