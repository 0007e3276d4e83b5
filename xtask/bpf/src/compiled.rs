//! The objects that come with the source, so that whoever builds the daemon needs no toolchain for BPF; and which objects a
//! build takes: these, or some that it compiles itself.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use flate2::Compression;
use flate2::write::ZlibEncoder;

use crate::ebpf::{self, COMMITTED, Machine, OBJECTS, SOAK};
use crate::manifest::Manifest;
use crate::toolchain::{self, Toolchain};
use crate::workspace;

/// Where they lie in the tree, a directory for each architecture.
const DIRECTORY: &str = "filter-ebpf/compiled";

const ARCHITECTURES: [&str; 2] = ["aarch64", "x86_64"];

/// Set to `FRESH` for objects that are compiled here, whatever comes with the source.
pub const CHOICE: &str = "FILTERD_BPF";

/// What `CHOICE` is set to for that.
pub const FRESH: &str = "fresh";

/// Tells cargo what the choice depends on. Told from where the build script's package lies, so that a moved or copied tree
/// does not look at the old one.
fn watch() {
    for made_of in ["filter-ebpf", "filter-common", "xtask/bpf", "Cargo.toml", "Cargo.lock"] {
        println!("cargo::rerun-if-changed=../{made_of}");
    }
    println!("cargo::rerun-if-env-changed={CHOICE}");
    println!("cargo::rerun-if-env-changed={}", ebpf::LOG);
}

/// For filter-daemon/build.rs: lays the objects where its code embeds them from. They are compressed, because line
/// information makes them large, and the daemon reads each only once.
pub fn embed() -> Result<()> {
    watch();
    let beside =
        PathBuf::from(env::var_os("OUT_DIR").context("OUT_DIR is not set: this is for build scripts")?);
    for (object, bytes) in objects()? {
        let mut compressed = ZlibEncoder::new(Vec::new(), Compression::best());
        let compressed = compressed.write_all(&bytes).and_then(|()| compressed.finish());
        let written = compressed.and_then(|bytes| fs::write(beside.join(format!("{object}.z")), bytes));
        written.with_context(|| format!("cannot write the BPF object {object} to {}", beside.display()))?;
    }
    Ok(())
}

/// Sees to it that the daemon can be built: where it needs objects that do not come with the source, these are compiled, by
/// a toolchain that is installed if there is none. A build script would do so, too, but could install nothing, and nobody
/// would see it work.
pub fn provide() -> Result<()> {
    if let Some(reason) = why_not()? {
        eprintln!("The BPF objects are compiled here: {reason}.");
        ebpf::build(&toolchain::ensure()?)?;
    }
    Ok(())
}

/// Each object that a build embeds, by its name.
pub fn objects() -> Result<Vec<(&'static str, Vec<u8>)>> {
    objects_for(&Machine::of_this_build())
}

/// Each object that a build for this machine embeds, by its name.
pub fn objects_for(machine: &Machine) -> Result<Vec<(&'static str, Vec<u8>)>> {
    match why_not()? {
        None => {
            OBJECTS.into_iter().map(|object| Ok((object, read(&machine.architecture, object)?))).collect()
        }
        Some(reason) => {
            let toolchain = toolchain::find()
                .with_context(|| format!("the BPF objects that come with the source do not do: {reason}"))?;
            ebpf::build_embedded(&toolchain, machine, &OBJECTS)
        }
    }
}

/// Where this object lies of each other architecture; none where those that come with the source do not do.
pub fn of_others(object: &str) -> Result<Vec<PathBuf>> {
    if why_not()?.is_some() {
        return Ok(Vec::new());
    }
    let here = Machine::of_this_build().architecture;
    let others = ARCHITECTURES.into_iter().filter(|architecture| *architecture != here);
    Ok(others.map(|architecture| directory().join(architecture).join(object)).collect())
}

/// Where the object lies that soaks send and count frames with.
pub fn soak() -> Result<PathBuf> {
    match why_not()? {
        None => Ok(directory().join(Machine::of_this_build().architecture).join(SOAK)),
        Some(_) => ebpf::build_soak(&toolchain::ensure()?),
    }
}

/// Why those that come with the source do not do.
fn why_not() -> Result<Option<String>> {
    let machine = Machine::of_this_build();
    if env::var_os(CHOICE).is_some_and(|choice| choice == FRESH) {
        return Ok(Some(format!("{CHOICE}={FRESH} asks for it")));
    }
    if ebpf::is_logging() {
        return Ok(Some(format!("{}=1 asks for others", ebpf::LOG)));
    }
    if !ARCHITECTURES.map(Machine::little_endian).contains(&machine) {
        return Ok(Some(format!("there are none for {}", machine.architecture)));
    }
    let changed = manifest()?.changed()?;
    Ok((!changed.is_empty()).then(|| format!("changed since they were compiled: {}", changed.join(", "))))
}

/// Compiles them again and writes them with their manifest. The toolchain that made them before is preferred: a second one
/// on the machine changes nothing.
pub fn write() -> Result<()> {
    let made_with = manifest().map(|manifest| manifest.with).unwrap_or_default();
    let toolchain = toolchain::ensure_like(&made_with)?;
    let mut sources = BTreeSet::new();
    let mut written = Vec::new();
    for architecture in ARCHITECTURES {
        let machine = Machine::little_endian(architecture);
        let directory = directory().join(architecture);
        fs::create_dir_all(&directory).with_context(|| format!("cannot make {}", directory.display()))?;
        for (object, bytes) in ebpf::build_embedded(&toolchain, &machine, &COMMITTED)? {
            let path = directory.join(object);
            fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
            written.push(format!("{DIRECTORY}/{architecture}/{object}"));
        }
        sources.extend(ebpf::sources(&machine)?);
    }
    Manifest::of(&toolchain.versions()?, &sources, &written)?.write(&directory().join("MANIFEST"))
}

/// How they were held against what is compiled here.
#[derive(Debug, PartialEq, Eq)]
pub enum Held {
    /// Byte for byte.
    ByBytes,
    /// By their sources alone, for what compiles here is not what made them.
    BySources { made_with: Vec<String> },
}

/// Holds them against the tree, and against what is compiled here.
pub fn hold(toolchain: &Toolchain) -> Result<Held> {
    let manifest = manifest()?;
    let changed = manifest.changed()?;
    if !changed.is_empty() {
        bail!(
            "the BPF objects in {DIRECTORY} are not of this tree: {}\n       try `cargo xtask objects`",
            changed.join(", ")
        );
    }
    if !is_made_here(&manifest, toolchain)? {
        return Ok(Held::BySources { made_with: manifest.with });
    }
    for architecture in ARCHITECTURES {
        for (object, bytes) in
            ebpf::build_embedded(toolchain, &Machine::little_endian(architecture), &COMMITTED)?
        {
            if bytes != read(architecture, object)? {
                bail!(
                    "{DIRECTORY}/{architecture}/{object} is not what the same compiler and linker make of the same sources here"
                );
            }
        }
    }
    Ok(Held::ByBytes)
}

/// Holds them against what their own compiler and linker make of this tree, byte for byte. Their hashes stand beside them, so
/// nothing else shows that somebody has written both. Where that compiler or linker is not to be had, they are not held at
/// all, which is an error.
pub fn hold_by_bytes() -> Result<()> {
    let made_with = manifest()?.with;
    let toolchain = toolchain::of_versions(&made_with)
        .context("the BPF objects cannot be compared byte for byte with what becomes of their sources")?;
    match hold(&toolchain)? {
        Held::ByBytes => Ok(()),
        Held::BySources { .. } => bail!("{toolchain} is not what it says that it is"),
    }
}

/// Would the same become of their sources here?
pub fn are_made_here(toolchain: &Toolchain) -> Result<bool> {
    is_made_here(&manifest()?, toolchain)
}

fn is_made_here(manifest: &Manifest, toolchain: &Toolchain) -> Result<bool> {
    Ok(manifest.with == toolchain.versions()?)
}

fn manifest() -> Result<Manifest> {
    Manifest::read(&directory().join("MANIFEST"))
}

fn read(architecture: &str, object: &str) -> Result<Vec<u8>> {
    let path = directory().join(architecture).join(object);
    fs::read(&path).with_context(|| format!("cannot read {}", path.display()))
}

fn directory() -> PathBuf {
    workspace::root().join(Path::new(DIRECTORY))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FAULTS B3: whoever built filterd first got a toolchain of 237 MB and a linker. Now he gets one only where he changed
    /// something himself.
    #[test]
    fn fresh_clone_builds_without_bpf_toolchain() {
        assert_eq!(manifest().unwrap().changed().unwrap(), Vec::<String>::new(), "try `cargo xtask objects`");
        for architecture in ARCHITECTURES {
            for object in COMMITTED {
                assert!(
                    read(architecture, object).unwrap().starts_with(b"\x7fELF"),
                    "{architecture}/{object}"
                );
            }
        }
    }

    #[test]
    fn objects_of_an_absent_compiler_are_an_error() {
        let wanted = ["rustc 9.99.0 (nobody's), LLVM 99.0.0".to_owned(), "bpf-linker 9.99.0".to_owned()];
        // Nothing is installed by a test: as on a machine without Debian's packages.
        let refused = toolchain::must_be(&wanted, || bail!("nothing is installed here"));
        let told = format!("{:#}", refused.unwrap_err());
        assert!(told.contains(&wanted[0]) && told.contains("nothing is installed here"), "{told}");
    }
}
