//! The crates that the code of a package can name: the dependencies that its manifest lists.

use std::fs;

use anyhow::{Context, Result};
use bpf_build::workspace;

/// Those of the package in this directory, as code spells them.
pub fn names(package: &str) -> Result<Vec<String>> {
    let manifest = workspace::root().join(package).join("Cargo.toml");
    let text =
        fs::read_to_string(&manifest).with_context(|| format!("cannot read {}", manifest.display()))?;
    Ok(listed(&text))
}

/// The keys of `[dependencies]` and of the sections like it, but not of those that tests alone can name.
fn listed(manifest: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut is_inside = false;
    for line in manifest.lines() {
        if line.starts_with('[') {
            is_inside = line.ends_with("dependencies]") && !line.starts_with("[dev-");
        } else if is_inside && let Some((name, _)) = line.split_once(['=', '.']) {
            names.push(name.trim().replace('-', "_"));
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dependencies_are_read_and_nothing_else() {
        let manifest = "[package]\nname = \"x\"\n\n[dependencies]\n# one\naya-ebpf = \"0.2\"\nnix.workspace = true\n\n\
                        [build-dependencies]\nxtask = { path = \"..\" }\n[dev-dependencies]\nproptest = \"1\"\n[lints]\nworkspace = true\n";
        assert_eq!(listed(manifest), ["aya_ebpf", "nix", "xtask"]);
    }
}
