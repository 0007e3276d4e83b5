//! The rules of the architecture, read from `xtask/imports.toml`: which module may import what, which import cycles are
//! known, and which files may hold unsafe code.
//!
//! The file is a small subset of TOML, read without a parser of its own, because every build of filterd builds xtask first:
//! tables whose quoted keys have a string, or an array of strings, as value. Anything else is an error, not a guess.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail, ensure};

/// Where the rules are, from the top of the work tree.
pub const FILE: &str = "xtask/imports.toml";

/// What the file says.
#[derive(Debug, Default)]
pub struct Rules {
    pub modules: Vec<Module>,
    pub cycles: Vec<Cycle>,
    pub unsafe_files: Vec<String>,
}

/// A file or directory of sources, and what its files may import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Module {
    /// From the top of the work tree, without `.rs`.
    pub path: String,
    pub may_import: Allowed,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Allowed {
    /// Crates, and modules of the module's own crate, as paths.
    Only(Vec<String>),
    Everything,
}

/// Modules that import each other, directly or through others of the cycle.
#[derive(Debug, PartialEq, Eq)]
pub struct Cycle {
    pub modules: BTreeSet<String>,
}

impl Rules {
    pub fn read(text: &str) -> Result<Self> {
        let mut rules = Self::default();
        let mut section = String::new();
        let mut lines = text.lines().zip(1..).filter(|(line, _)| !is_blank(line));
        while let Some((line, number)) = lines.next() {
            if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                name.clone_into(&mut section);
                continue;
            }
            let mut entry = line.to_owned();
            while entry.contains("= [") && !entry.trim_end().ends_with(']') {
                let (more, _) =
                    lines.next().with_context(|| format!("{FILE}:{number}: the array has no end"))?;
                entry.push_str(more);
            }
            rules
                .add(&section, &entry)
                .with_context(|| format!("{FILE}:{number}: cannot read this entry"))?;
        }
        Ok(rules)
    }

    fn add(&mut self, section: &str, entry: &str) -> Result<()> {
        let (key, value) = entry.split_once(" = ").context("it is no `\"key\" = value`")?;
        let (key, value) = (string(key)?, value.trim());
        match section {
            "imports" => self.modules.push(Module { path: key, may_import: allowed(value)? }),
            "cycles" => {
                reason(value)?;
                self.cycles.push(Cycle { modules: key.split(", ").map(ToOwned::to_owned).collect() });
            }
            "unsafe" => {
                reason(value)?;
                self.unsafe_files.push(key);
            }
            other => bail!("there is no section [{other}]"),
        }
        Ok(())
    }

    /// The row of a file: the longest path that the file lies in.
    pub fn module_of(&self, file: &str) -> Option<&Module> {
        self.modules.iter().filter(|module| module.holds(file)).max_by_key(|module| module.path.len())
    }
}

impl Module {
    pub fn holds(&self, file: &str) -> bool {
        file.strip_prefix(&self.path).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
    }

    /// As a path of its crate: `filter-daemon/src/blocklist` is `crate::blocklist`.
    pub fn in_crate(&self) -> String {
        let inside = self.path.split_once("/src/").map_or("", |(_, inside)| inside);
        format!("crate::{}", inside.replace('/', "::")).trim_end_matches(':').to_owned()
    }
}

fn is_blank(line: &str) -> bool {
    line.trim().is_empty() || line.trim_start().starts_with('#')
}

fn allowed(value: &str) -> Result<Allowed> {
    let Some(array) = value.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) else {
        ensure!(string(value)? == "everything", "a module may import an array, or \"everything\"");
        return Ok(Allowed::Everything);
    };
    let entries = array.split(',').map(str::trim).filter(|entry| !entry.is_empty());
    Ok(Allowed::Only(entries.map(string).collect::<Result<_>>()?))
}

/// Exceptions say why they are there.
fn reason(value: &str) -> Result<()> {
    ensure!(!string(value)?.trim().is_empty(), "it has no reason");
    Ok(())
}

fn string(value: &str) -> Result<String> {
    let inside = value.trim().strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let inside = inside.with_context(|| format!("{value} is no string in double quotes"))?;
    ensure!(!inside.contains(['"', '\\']), "{value}: strings have no quotes and no escapes in them");
    Ok(inside.to_owned())
}

/// Does this path lead to what the other one names, or into it?
pub fn begins_with(path: &str, beginning: &str) -> bool {
    path.strip_prefix(beginning).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"# Words.
[imports]
"common/src" = []
"daemon/src/kernel" = ["aya", "crate::blocklist::Effects"]
"daemon/src/kernel/broker" = [
    # more words
    "nix", "rustix",
    "serde",
]
"daemon/src/daemon" = "everything"

[cycles]
"kernel::a, kernel::b" = "they are two halves of one thing"

[unsafe]
"a/maps.rs" = "pointers into maps"
"#;

    fn only(entries: &[&str]) -> Allowed {
        Allowed::Only(entries.iter().copied().map(ToOwned::to_owned).collect())
    }

    #[test]
    fn every_section_is_read() {
        let rules = Rules::read(TEXT).unwrap();
        let modules: Vec<_> =
            rules.modules.iter().map(|module| (module.path.as_str(), module.may_import.clone())).collect();
        let expected = [
            ("common/src", only(&[])),
            ("daemon/src/kernel", only(&["aya", "crate::blocklist::Effects"])),
            ("daemon/src/kernel/broker", only(&["nix", "rustix", "serde"])),
            ("daemon/src/daemon", Allowed::Everything),
        ];
        assert_eq!(modules, expected);
        assert_eq!(rules.cycles[0].modules, ["kernel::a", "kernel::b"].map(str::to_owned).into());
        assert_eq!(rules.unsafe_files, ["a/maps.rs"]);
    }

    #[test]
    fn unreadable_lines_are_errors() {
        let cases = [
            ("\"a\" = []", "there is no section []"),
            ("[import]\n\"a\" = []", "there is no section [import]"),
            ("[imports]\na = []", "a is no string"),
            ("[imports]\n\"a\" = [b]", "b is no string"),
            ("[imports]\n\"a\" = \"all\"", "an array, or \"everything\""),
            ("[imports]\n\"a\" = [\"b\",", "the array has no end"),
            ("[imports]\n\"a\"", "it is no `\"key\" = value`"),
            ("[cycles]\n\"a, b\" = \"\"", "it has no reason"),
            ("[unsafe]\n\"a.rs\" = \" \"", "it has no reason"),
        ];
        for (text, expected) in cases {
            let error = format!("{:#}", Rules::read(text).unwrap_err());
            assert!(error.starts_with(FILE) && error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn the_longest_path_counts() {
        let rules = Rules::read(TEXT).unwrap();
        let module = |file| rules.module_of(file).map(|module| module.path.as_str());
        assert_eq!(module("daemon/src/kernel/broker/mod.rs"), Some("daemon/src/kernel/broker"));
        assert_eq!(module("daemon/src/kernel/brokers.rs"), Some("daemon/src/kernel"));
        assert_eq!(module("daemon/src/kernel.rs"), Some("daemon/src/kernel"));
        assert_eq!(module("daemon/src/other.rs"), None);
    }
}
