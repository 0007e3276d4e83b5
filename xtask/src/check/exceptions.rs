//! Exceptions from a lint: how often each rule may be broken in each place. The numbers stand in a TOML file and may only shrink.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

use anyhow::{Context, Result, ensure};
use bpf_build::workspace;

/// The number of exceptions by section and key, such as a file and a rule.
pub type Counts = BTreeMap<(String, String), usize>;

/// A place in the source that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// A section of the TOML file: mostly the path of a source file.
    pub section: String,
    /// A key in the section: mostly a rule.
    pub key: String,
    /// Shown when the lint fails, with a line number.
    pub shown: String,
}

/// A lint with exceptions.
#[derive(Debug)]
pub struct Lint {
    /// The environment variable that says what to do with the list: `write`, `force` or `list`.
    pub variable: &'static str,
    /// The list, relative to the root of the work tree.
    pub list: &'static str,
    /// The comment at the top of the list.
    pub head: &'static str,
    /// A comment after a section's name.
    pub remark: fn(&str) -> Option<&'static str>,
}

/// What to do with the list of exceptions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    /// Complain if a number differs from the list.
    Compare,
    /// Lower the numbers that are too high, then compare.
    Lower,
    /// Replace the list.
    Force,
    /// Print every place, then compare.
    Print,
}

impl Lint {
    /// Compares the findings with the list, or rewrites the list if the environment variable asks for it.
    pub fn complaints(&self, findings: &[Finding]) -> Result<Vec<String>> {
        let found = count(findings);
        let action = Action::of(env::var(self.variable).ok().as_deref())
            .with_context(|| format!("{} is one of write, force, list", self.variable))?;
        let allowed = match action {
            Action::Compare => self.read()?,
            Action::Lower => self.write(lowered(&self.read()?, &found))?,
            Action::Force => self.write(found.clone())?,
            Action::Print => {
                findings.iter().for_each(|finding| println!("{}: {}", finding.key, finding.shown));
                self.read()?
            }
        };
        Ok(self.compare(&allowed, findings))
    }

    fn compare(&self, allowed: &Counts, findings: &[Finding]) -> Vec<String> {
        let found = count(findings);
        let too_many = found.iter().filter_map(|(place, &number)| {
            let most = allowed.get(place).copied().unwrap_or(0);
            (number > most).then(|| too_many(place, number, most, findings))
        });
        let too_few = allowed.iter().filter_map(|(place, &most)| {
            let number = found.get(place).copied().unwrap_or(0);
            (number < most).then(|| self.too_few(place, number, most))
        });
        too_many.chain(too_few).collect()
    }

    fn too_few(&self, (section, key): &(String, String), number: usize, most: usize) -> String {
        let Self { variable, list, .. } = self;
        format!(
            "{list}: [{section:?}] allows {key} = {most}, but the code has {number}: lower it to {number} \
             (`{variable}=write cargo xtask check`)"
        )
    }

    fn path(&self) -> PathBuf {
        workspace::root().join(Path::new(self.list))
    }

    fn read(&self) -> Result<Counts> {
        let text = fs::read_to_string(self.path()).with_context(|| format!("cannot read {}", self.list))?;
        parse(&text).with_context(|| format!("cannot read {}", self.list))
    }

    fn write(&self, counts: Counts) -> Result<Counts> {
        fs::write(self.path(), self.text(&counts)).with_context(|| format!("cannot write {}", self.list))?;
        println!("check: {} allows {} exceptions", self.list, counts.values().sum::<usize>());
        Ok(counts)
    }

    fn text(&self, counts: &Counts) -> String {
        let (mut text, mut last) = (format!("{}\n", self.head), None);
        for ((section, key), number) in counts {
            if last != Some(section) {
                let remark = (self.remark)(section).map_or_else(String::new, |remark| format!(" # {remark}"));
                _ = writeln!(text, "\n[{section:?}]{remark}");
                last = Some(section);
            }
            _ = writeln!(text, "{key} = {number}");
        }
        text
    }
}

impl Action {
    fn of(word: Option<&str>) -> Option<Self> {
        match word {
            None => Some(Self::Compare),
            Some("write") => Some(Self::Lower),
            Some("force") => Some(Self::Force),
            Some("list") => Some(Self::Print),
            Some(_) => None,
        }
    }
}

fn count(findings: &[Finding]) -> Counts {
    let mut counts = Counts::new();
    for finding in findings {
        *counts.entry((finding.section.clone(), finding.key.clone())).or_default() += 1;
    }
    counts
}

/// The smaller number of both. A place without a number keeps none.
fn lowered(allowed: &Counts, found: &Counts) -> Counts {
    let lower = allowed.iter().filter_map(|(place, &most)| {
        let number = found.get(place).copied().unwrap_or(0).min(most);
        (number > 0).then(|| (place.clone(), number))
    });
    lower.collect()
}

fn too_many((section, key): &(String, String), number: usize, most: usize, findings: &[Finding]) -> String {
    let here = findings.iter().filter(|finding| finding.section == *section && finding.key == *key);
    let shown: String = here.map(|finding| format!("\n    {}", finding.shown)).collect();
    format!("{section}: {key}: {number} found, {most} allowed{shown}")
}

/// The part of TOML that `text` writes: `["section"]`, `key = number`, comments.
fn parse(text: &str) -> Result<Counts> {
    let (mut counts, mut section) = (Counts::new(), None);
    for (line, number) in text.lines().zip(1..) {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        if let Some(name) = line.strip_prefix("[\"").and_then(|rest| rest.strip_suffix("\"]")) {
            section = Some(name.to_owned());
            continue;
        }
        let name = section.clone().with_context(|| format!("line {number} lies in no section"))?;
        let (key, value) = line.split_once('=').with_context(|| format!("line {number} has no `=`"))?;
        let value = value.trim().parse().with_context(|| format!("line {number} has no number"))?;
        let is_new = counts.insert((name, key.trim().to_owned()), value).is_none();
        ensure!(is_new, "line {number} repeats a key");
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINT: Lint = Lint {
        variable: "X",
        list: "x.toml",
        head: "# Head.",
        remark: |section| (section == "b.md").then_some("later"),
    };

    fn counts(all: &[(&str, &str, usize)]) -> Counts {
        all.iter().map(|(section, key, number)| ((section.to_string(), key.to_string()), *number)).collect()
    }

    fn findings(all: &[(&str, &str, usize)]) -> Vec<Finding> {
        let repeat = |(section, key, number): &(&str, &str, usize)| {
            let shown = |at: usize| format!("{section}:{at}");
            let one = |at| Finding { section: section.to_string(), key: key.to_string(), shown: shown(at) };
            (1..=*number).map(one).collect::<Vec<_>>()
        };
        all.iter().flat_map(repeat).collect()
    }

    #[test]
    fn list_is_read_as_written() {
        let list = counts(&[("a.md", "long", 2), ("a.md", "word", 1), ("b.md", "long", 3)]);
        let text = LINT.text(&list);
        assert_eq!(text, "# Head.\n\n[\"a.md\"]\nlong = 2\nword = 1\n\n[\"b.md\"] # later\nlong = 3\n");
        assert_eq!(parse(&text).unwrap(), list);
        for wrong in ["a = 1", "[\"a\"]\nb", "[\"a\"]\nb = c", "[\"a\"]\nb = 1\nb = 2"] {
            parse(wrong).unwrap_err();
        }
    }

    #[test]
    fn any_difference_is_a_complaint() {
        let lower = "x.toml: [\"a.md\"] allows long = 2, but the code has 1: lower it to 1 (`X=write cargo xtask check`)";
        let gone = "x.toml: [\"a.md\"] allows long = 2, but the code has 0: lower it to 0 (`X=write cargo xtask check`)";
        let more = "a.md: long: 2 found, 1 allowed\n    a.md:1\n    a.md:2";
        let new = "a.md: long: 1 found, 0 allowed\n    a.md:1";
        for (allowed, found, complaint) in
            [(2, 2, None), (2, 1, Some(lower)), (2, 0, Some(gone)), (1, 2, Some(more)), (0, 1, Some(new))]
        {
            let list = if allowed > 0 { counts(&[("a.md", "long", allowed)]) } else { Counts::new() };
            let told = LINT.compare(&list, &findings(&[("a.md", "long", found)]));
            assert_eq!(told, Vec::from_iter(complaint), "{allowed} allowed, {found} found");
        }
    }

    #[test]
    fn writing_only_lowers() {
        let allowed = counts(&[("a", "long", 2), ("a", "word", 2), ("b", "long", 2)]);
        let found = counts(&[("a", "long", 1), ("a", "word", 3), ("c", "long", 1)]);
        assert_eq!(lowered(&allowed, &found), counts(&[("a", "long", 1), ("a", "word", 2)]));
    }

    #[test]
    fn actions_have_names() {
        for (word, action) in [
            (None, Some(Action::Compare)),
            (Some("write"), Some(Action::Lower)),
            (Some("force"), Some(Action::Force)),
            (Some("list"), Some(Action::Print)),
            (Some("wrote"), None),
        ] {
            assert_eq!(Action::of(word), action, "{word:?}");
        }
    }
}
