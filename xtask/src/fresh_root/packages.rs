//! What a system has got, and whether it needed that.

use std::collections::{BTreeMap, BTreeSet};

/// Versions of packages by name.
pub type Packages = BTreeMap<String, String>;

/// Reads lines of a name and a version.
pub fn read(told: &str) -> Packages {
    told.lines()
        .filter_map(|line| line.split_once('\t'))
        .map(|(name, version)| (bare(name), version.into()))
        .collect()
}

/// What is there now and was not before, in this version or at all, or is gone; none if building needs all that came. It may
/// need a newer version of what is there: headers come with the library that they belong to.
pub fn unneeded(before: &Packages, after: &Packages, needed: &BTreeSet<String>) -> Option<String> {
    let came =
        after.iter().filter(|(name, version)| before.get(*name) != Some(version) && !needed.contains(*name));
    let gone = before.keys().filter(|name| !after.contains_key(*name));
    let told: Vec<_> = came
        .map(|(name, version)| format!("{name} {version} came"))
        .chain(gone.map(|name| format!("{name} is gone")))
        .collect();
    (!told.is_empty()).then(|| told.join(", "))
}

/// Without its architecture.
pub fn bare(name: &str) -> String {
    name.split(':').next().unwrap_or(name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_packages_must_be_needed() {
        let needed = ["g++".to_owned(), "libc6".to_owned()].into();
        let before = read("libc6:amd64\t1\nbash\t5\n");
        assert_eq!(before["libc6"], "1");
        let cases = [
            ("libc6\t1\nbash\t5\n", None),
            ("libc6\t1\nbash\t5\ng++\t12\n", None),
            ("libc6\t1\nbash\t5\nspin\t6\n", Some("spin 6 came")),
            ("libc6\t2\nbash\t5\n", None),
            ("libc6\t1\nbash\t6\n", Some("bash 6 came")),
            ("libc6\t1\n", Some("bash is gone")),
        ];
        for (after, fault) in cases {
            assert_eq!(unneeded(&before, &read(after), &needed).as_deref(), fault, "{after}");
        }
    }
}
