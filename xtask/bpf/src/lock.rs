//! Cargo.lock: which packages there are, and what they depend on.

use std::collections::{BTreeMap, BTreeSet};

/// What these depend on, whatever of it is optional: each crate with its version, and its checksum.
pub fn below(lock: &str, these: &[&str]) -> BTreeMap<String, String> {
    let all: Vec<_> = packages(lock).collect();
    let mut wanted = these.to_vec();
    let (mut seen, mut below) = (BTreeSet::new(), BTreeMap::new());
    while let Some(name) = wanted.pop() {
        for package in all.iter().filter(|package| package.is_called(name)) {
            if !seen.insert((package.name, package.version)) {
                continue;
            }
            wanted.extend(&package.dependencies);
            if let Some(checksum) = package.checksum {
                below.insert(format!("{} {}", package.name, package.version), checksum.to_owned());
            }
        }
    }
    below
}

/// All that it names.
pub fn packages(lock: &str) -> impl Iterator<Item = Package<'_>> {
    lock.split("[[package]]").skip(1).map(Package::read)
}

/// What it says of one. One of our own comes from nowhere and has no checksum.
#[derive(Debug)]
pub struct Package<'a> {
    pub name: &'a str,
    pub version: &'a str,
    pub source: Option<&'a str>,
    pub checksum: Option<&'a str>,
    /// As they are written: with a version where there are several of a name.
    dependencies: Vec<&'a str>,
}

impl<'a> Package<'a> {
    fn read(entry: &'a str) -> Self {
        let field = |key| {
            entry.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \"")?.strip_suffix('"'))
        };
        let dependencies = entry.lines().filter_map(|line| line.strip_prefix(" \"")?.strip_suffix("\","));
        Self {
            name: field("name").unwrap_or_default(),
            version: field("version").unwrap_or_default(),
            source: field("source"),
            checksum: field("checksum"),
            dependencies: dependencies.collect(),
        }
    }

    /// The names of what it depends on.
    pub fn needs(&self) -> impl Iterator<Item = &'a str> {
        self.dependencies.iter().map(|needed| needed.split_once(' ').map_or(*needed, |(name, _)| name))
    }

    /// A version is named where there is more than one.
    fn is_called(&self, dependency: &str) -> bool {
        let (name, version) = dependency.split_once(' ').unwrap_or((dependency, self.version));
        (self.name, self.version) == (name, version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = r#"
version = 4

[[package]]
name = "ours"
version = "0.1.0"
dependencies = [
 "syn 2.0.1",
 "words",
]

[[package]]
name = "other"
version = "1.0.0"
source = "registry"
checksum = "00"

[[package]]
name = "syn"
version = "1.0.0"
source = "registry"
checksum = "11"

[[package]]
name = "syn"
version = "2.0.1"
source = "registry"
checksum = "22"
dependencies = [
 "words",
]

[[package]]
name = "words"
version = "3.0.0"
source = "registry"
checksum = "33"
"#;

    #[test]
    fn dependencies_match_the_lock_file() {
        let below: Vec<_> = below(LOCK, &["ours"]).into_iter().collect();
        assert_eq!(below, [("syn 2.0.1".into(), "22".into()), ("words 3.0.0".into(), "33".into())]);
    }

    #[test]
    fn unknown_package_has_no_dependents() {
        assert!(below(LOCK, &["unknown"]).is_empty());
        assert_eq!(below(LOCK, &["other"]).len(), 1);
    }
}
