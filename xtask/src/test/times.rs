//! How long each test took last time: the longest start first, so that none of them runs on alone at the end.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use bpf_build::workspace;

/// A test that never ran starts before all that are known to be short.
const UNKNOWN: u64 = 1000;

/// Milliseconds, by layer and name.
pub struct Times {
    file: PathBuf,
    known: BTreeMap<String, u64>,
}

impl Times {
    pub fn read() -> Result<Self> {
        let file = workspace::target()?.join("tests").join("times");
        let text = fs::read_to_string(&file).unwrap_or_default();
        Ok(Self { file, known: text.lines().filter_map(time).collect() })
    }

    pub fn of(&self, layer: &str, name: &str) -> u64 {
        self.known.get(&key(layer, name)).copied().unwrap_or(UNKNOWN)
    }

    pub fn note(&mut self, layer: &str, name: &str, took: Duration) {
        let milliseconds = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        self.known.insert(key(layer, name), milliseconds);
    }

    /// The longest first, for whoever wonders where the time goes.
    pub fn write(&self) -> Result<()> {
        let mut lines: Vec<_> = self.known.iter().collect();
        lines.sort_by_key(|(_, milliseconds)| std::cmp::Reverse(**milliseconds));
        let text: String =
            lines.iter().map(|(key, milliseconds)| format!("{milliseconds:>7} {key}\n")).collect();
        fs::write(&self.file, text).with_context(|| format!("cannot write {}", self.file.display()))
    }
}

fn key(layer: &str, name: &str) -> String {
    format!("{layer} {name}")
}

fn time(line: &str) -> Option<(String, u64)> {
    let (milliseconds, key) = line.trim_start().split_once(' ')?;
    Some((key.to_owned(), milliseconds.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_line_is_read_again() {
        assert_eq!(time("   1234 units a::b"), Some(("units a::b".to_owned(), 1234)));
        assert_eq!(time("units"), None);
    }
}
