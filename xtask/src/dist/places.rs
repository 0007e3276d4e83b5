//! Where things lay when the binary was built, which is nobody's business, and would make it another one elsewhere.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use bpf_build::{recipe, workspace};

use crate::cross::Builder;

/// What the compilers of Rust and of C are to call the places they see, as variables for cargo.
pub fn remapped(builder: &Builder) -> Result<Vec<(&'static str, String)>> {
    let places = places(builder)?;
    let told = |option: &str, between: &str| {
        let each = places.iter().map(|(place, name)| format!("{option}={}={name}", place.display()));
        each.collect::<Vec<_>>().join(between)
    };
    Ok(vec![
        ("CARGO_ENCODED_RUSTFLAGS", told("--remap-path-prefix", "\x1f")),
        ("CFLAGS", told("-ffile-prefix-map", " ")),
        ("CARGO_INCREMENTAL", "0".to_owned()),
    ])
}

/// Refuses a binary that names one of them.
pub fn must_be_nobodys(binary: &Path, builder: &Builder) -> Result<()> {
    let bytes = fs::read(binary).with_context(|| format!("cannot read {}", binary.display()))?;
    let found = recipe::find_place(&bytes, places(builder)?.into_iter().map(|(place, _)| place));
    found.map_or(Ok(()), |place| bail!("{} names {}, where it was built", binary.display(), place.display()))
}

/// The last one that fits counts: a target directory may lie in the tree.
fn places(builder: &Builder) -> Result<Vec<(PathBuf, &'static str)>> {
    let cargo = workspace::cargo_home().context("there is no cargo: HOME is not set")?;
    let registries = workspace::registries().map(|registry| (registry, "crates"));
    let own = [(workspace::root(), "filterd"), (workspace::target()?, "target")];
    let others = [(builder.library()?, "rust"), (cargo, "cargo")];
    Ok(others.into_iter().chain(own).chain(registries).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::processor::Processor;

    fn own() -> Builder {
        Builder::of(Processor::of_this_machine().unwrap()).unwrap()
    }

    #[test]
    fn binary_with_build_path_is_refused() {
        let binary = std::env::temp_dir().join(format!("xtask-places-{}", std::process::id()));
        let check = |text: &str| {
            fs::write(&binary, text).unwrap();
            must_be_nobodys(&binary, &own())
        };
        let tree = workspace::root().join("filter-daemon/src/main.rs");
        let (good, bad) = (check("filterd/filter-daemon/src/main.rs"), check(&tree.to_string_lossy()));
        fs::remove_file(&binary).unwrap();
        good.unwrap();
        let error = bad.unwrap_err().to_string();
        assert!(error.ends_with("where it was built"), "{error}");
    }

    #[test]
    fn target_directory_inside_tree_is_replaced_first() {
        let names: Vec<_> = places(&own()).unwrap().into_iter().map(|(_, name)| name).collect();
        let place = |wanted| names.iter().position(|name| *name == wanted).unwrap();
        assert!(place("filterd") < place("target") && place("cargo") < place("crates"), "{names:?}");
    }
}
