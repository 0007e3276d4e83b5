//! The bill of materials: which crates are in the binary and in the BPF objects, in the words of CycloneDX. Without a random
//! serial number, so that the same commit has the same bill.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;

use anyhow::{Context, Result, ensure};
use bpf_build::{lock, process, workspace};

use super::Release;
use crate::processor::Processor;

/// What is in what is given away.
const PACKAGES: [&str; 2] = ["filter-daemon", "filter-ebpf"];

/// A crate: its name, its version, and how it may be used.
type Crate = (String, String, String);

/// Writes it: of what is packed for any of these.
pub fn write(release: &Release, processors: impl Iterator<Item = Processor>) -> Result<()> {
    let lock = fs::read_to_string(workspace::root().join("Cargo.lock")).context("cannot read Cargo.lock")?;
    let mut crates = BTreeSet::new();
    for processor in processors {
        for package in PACKAGES {
            crates.extend(crates_of(package, processor)?);
        }
    }
    let bill = bill(release, &crates, &sums(&lock))?;
    let path = release.file(&format!("filterd-{}.cdx.json", release.version));
    fs::write(&path, bill).with_context(|| format!("cannot write {}", path.display()))
}

/// Those that end up in it, and not those that only build or test it.
fn crates_of(package: &str, processor: Processor) -> Result<Vec<Crate>> {
    let mut cargo = workspace::cargo();
    cargo.args([
        "tree",
        "--locked",
        "--package",
        package,
        "--edges",
        "normal",
        "--prefix",
        "none",
        "--no-dedupe",
    ]);
    let told = process::output(cargo.args(["--target", &processor.triple(), "--format", "{p}|{l}"]))?;
    told.lines().map(|line| line_of_tree(line).with_context(|| format!("cannot read `{line}`"))).collect()
}

/// Such as `aya v0.14.0|MIT OR Apache-2.0`, or `filter-common v0.1.0 (/where/it/lies)|…`.
fn line_of_tree(line: &str) -> Option<Crate> {
    let (package, licence) = line.split_once('|')?;
    let mut words = package.split(' ');
    let (name, version) = (words.next()?, words.next()?.strip_prefix('v')?);
    Some((name.to_owned(), version.to_owned(), licence.to_owned()))
}

/// The checksum of each crate that came from the registry.
fn sums(lock: &str) -> BTreeMap<(&str, &str), &str> {
    lock::packages(lock).filter_map(|one| Some(((one.name, one.version), one.checksum?))).collect()
}

fn bill(release: &Release, crates: &BTreeSet<Crate>, sums: &BTreeMap<(&str, &str), &str>) -> Result<String> {
    let mut components = Vec::new();
    for (name, version, licence) in crates {
        // These stand in quotes.
        ensure!(
            [name, version, licence].iter().all(|word| !word.contains(['"', '\\'])),
            "{name} has a name that needs other quotes"
        );
        let url = format!("pkg:cargo/{name}@{version}");
        let mut component = format!(
            "    {{\"type\": \"library\", \"bom-ref\": \"{url}\", \"name\": \"{name}\", \"version\": \"{version}\", \"purl\": \"{url}\""
        );
        if !licence.is_empty() {
            // What was written before SPDX had words for it.
            let licence = licence.replace('/', " OR ");
            write!(component, ", \"licenses\": [{{\"expression\": \"{licence}\"}}]")?;
        }
        if let Some(sum) = sums.get(&(name.as_str(), version.as_str())) {
            write!(component, ", \"hashes\": [{{\"alg\": \"SHA-256\", \"content\": \"{sum}\"}}]")?;
        }
        components.push(component + "}");
    }
    let version = &release.version;
    Ok(format!(
        "{{\n  \"bomFormat\": \"CycloneDX\",\n  \"specVersion\": \"1.5\",\n  \"version\": 1,\n  \"metadata\": {{\"component\": \
         {{\"type\": \"application\", \"name\": \"filterd\", \"version\": \"{version}\"}}}},\n  \"components\": [\n{}\n  ]\n}}\n",
        components.join(",\n")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bill_has_version_licence_and_checksum() {
        let lock = "[[package]]\nname = \"aya\"\nversion = \"0.14.0\"\nsource = \"r\"\nchecksum = \"ab12\"\n";
        let crates = ["aya v0.14.0|MIT/Apache-2.0", "filter-common v0.1.0 (/where)|MIT"];
        let crates = crates.map(|line| line_of_tree(line).unwrap()).into_iter().collect();
        let release = Release {
            version: "9.9".into(),
            seconds: 0,
            commit: String::new(),
            directory: "/nowhere".into(),
        };
        let bill = bill(&release, &crates, &sums(lock)).unwrap();
        assert!(bill.contains("\"purl\": \"pkg:cargo/aya@0.14.0\""), "{bill}");
        assert!(bill.contains("\"MIT OR Apache-2.0\""), "{bill}");
        assert!(bill.contains("\"content\": \"ab12\""), "{bill}");
        assert_eq!(bill.matches("\"hashes\"").count(), 1, "{bill}");
        assert!(!bill.contains("serialNumber") && !bill.contains("/where"), "{bill}");
    }
}
