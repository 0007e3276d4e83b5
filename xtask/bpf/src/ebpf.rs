//! Builds the BPF objects out of filter-ebpf, in a target directory of their own: the cargo around us holds the other.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::embedded::embedded;
use crate::toolchain::Toolchain;
use crate::{process, recipe, workspace};

/// The programs, each an object of its own.
pub const OBJECTS: [&str; 6] = ["root", "judge", "root-tc", "judge-tc", "egress", "connect"];

/// Those that benchmarks measure them with; nobody else needs them.
const BENCH_OBJECTS: [&str; 1] = ["bench-packet"];

/// What soaks send and count frames with.
pub const SOAK: &str = "soak";

/// All that come with the source.
pub const COMMITTED: [&str; 7] =
    [OBJECTS[0], OBJECTS[1], OBJECTS[2], OBJECTS[3], OBJECTS[4], OBJECTS[5], SOAK];

/// Set to 1 for objects that print each verdict through aya-log.
pub const LOG: &str = "FILTERD_BPF_LOG";

/// Builds the objects and tells the directory they lie in.
pub fn build(toolchain: &Toolchain) -> Result<PathBuf> {
    build_these(&OBJECTS, toolchain)
}

/// Builds the objects of the benchmarks and tells the directory they lie in.
pub fn build_benches(toolchain: &Toolchain) -> Result<PathBuf> {
    build_these(&BENCH_OBJECTS, toolchain)
}

/// Builds the object of the soaks and tells where it lies.
pub fn build_soak(toolchain: &Toolchain) -> Result<PathBuf> {
    Ok(build_these(&[SOAK], toolchain)?.join(SOAK))
}

/// Builds these objects for the kernel of a machine of this architecture: their names, and their bytes as the daemon embeds
/// them.
pub fn build_embedded(
    toolchain: &Toolchain,
    machine: &Machine,
    objects: &[&'static str],
) -> Result<Vec<(&'static str, Vec<u8>)>> {
    let built = build_for(machine, objects, toolchain)?;
    let read = objects.iter().map(|object| {
        let read =
            fs::read(built.join(object)).with_context(|| format!("cannot read the BPF object {object}"))?;
        let embedded = embedded(&read).and_then(|embedded| {
            recipe::refuse_places(&embedded, &toolchain.compiler)?;
            Ok(embedded)
        });
        Ok((*object, embedded.with_context(|| format!("cannot embed the BPF object {object}"))?))
    });
    read.collect()
}

/// What these objects were last built from, of this tree, and seen from its top.
pub fn sources(machine: &Machine) -> Result<BTreeSet<String>> {
    let built = target(machine)?.join(machine.triple()).join("release");
    let mut sources = BTreeSet::new();
    for object in COMMITTED {
        let path = built.join(format!("{object}.d"));
        let told = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        sources.extend(sources_in(&told, &workspace::root()));
    }
    Ok(sources)
}

/// Out of a rule for make: what was built, a colon, and what from.
fn sources_in(rule: &str, root: &Path) -> Vec<String> {
    let (_, from) = rule.split_once(": ").unwrap_or_default();
    // A space in a name has a backslash before it.
    let from = from.replace("\\ ", "\0");
    let paths = from.split_whitespace().map(|path| path.replace('\0', " "));
    let own = paths
        .filter_map(|path| Some(Path::new(&path).strip_prefix(root).ok()?.to_string_lossy().into_owned()));
    own.collect()
}

fn build_these(objects: &[&str], toolchain: &Toolchain) -> Result<PathBuf> {
    build_for(&Machine::of_this_build(), objects, toolchain)
}

fn build_for(machine: &Machine, objects: &[&str], toolchain: &Toolchain) -> Result<PathBuf> {
    let target = target(machine)?;
    let mut cargo = cargo(toolchain, "build", machine, &target);
    cargo.args(objects.iter().flat_map(|object| ["--bin", object]));
    process::run(&mut cargo).context("cannot build the BPF programs")?;
    Ok(target.join(machine.triple()).join("release"))
}

/// Looks the programs over with clippy, where this compiler has one, else with the compiler alone.
pub fn lint(toolchain: &Toolchain) -> Result<()> {
    let has_clippy = toolchain.compiler.has_clippy();
    let task = if has_clippy { "clippy" } else { "check" };
    let machine = Machine::of_this_build();
    let mut cargo = cargo(toolchain, task, &machine, &target(&machine)?);
    if has_clippy {
        cargo.args(["--", "-Dwarnings"]);
    }
    process::run(&mut cargo).context("the BPF programs are not in order")
}

fn cargo(toolchain: &Toolchain, task: &str, machine: &Machine, target: &Path) -> Command {
    let mut cargo = toolchain.compiler.cargo();
    cargo.args([task, "--release", "--package", "filter-ebpf", "-Zbuild-std=core"]);
    cargo.args(["--target", machine.triple()]).arg("--target-dir").arg(target);
    if is_logging() {
        cargo.args(["--features", "log"]);
    }
    cargo
        .envs(recipe::PROFILE)
        .env("CARGO_ENCODED_RUSTFLAGS", recipe::flags(&toolchain.compiler, &machine.architecture))
        // Not one of the flags: where it lies must not go into any name.
        .env(
            format!("CARGO_TARGET_{}_LINKER", machine.triple().replace('-', "_").to_uppercase()),
            &toolchain.linker,
        )
        .current_dir(workspace::root());
    cargo
}

/// Of its own, and another one for each of the features and machines: two builds at a time must not take each other's
/// objects.
fn target(machine: &Machine) -> Result<PathBuf> {
    let features = if is_logging() { "-log" } else { "" };
    let other = if *machine == Machine::of_this_build() {
        String::new()
    } else {
        format!("-{}", machine.architecture)
    };
    Ok(workspace::target()?.join(format!("ebpf{features}{other}")))
}

/// Are the programs to print each verdict?
pub fn is_logging() -> bool {
    env::var_os(LOG).is_some_and(|value| value == "1")
}

/// The machine whose kernel will run the programs.
#[derive(Debug, PartialEq, Eq)]
pub struct Machine {
    pub architecture: String,
    is_big_endian: bool,
}

impl Machine {
    /// In a build script the one that is built for, else the one that we run on.
    pub fn of_this_build() -> Self {
        let endian = env::var("CARGO_CFG_TARGET_ENDIAN").ok();
        Self {
            architecture: env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_else(|_| env::consts::ARCH.to_owned()),
            is_big_endian: endian.map_or(cfg!(target_endian = "big"), |endian| endian == "big"),
        }
    }

    /// One that has its least byte first.
    pub fn little_endian(architecture: &str) -> Self {
        Self { architecture: architecture.to_owned(), is_big_endian: false }
    }

    fn triple(&self) -> &'static str {
        if self.is_big_endian { "bpfeb-unknown-none" } else { "bpfel-unknown-none" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_those_of_the_tree() {
        let rule = "/a tree/target/judge: /a\\ tree/one.rs /elsewhere/core.rs /a\\ tree/two\\ words.rs\n";
        assert_eq!(sources_in(rule, Path::new("/a tree")), ["one.rs", "two words.rs"]);
    }

    #[test]
    fn bpf_has_the_endianness_of_its_machine() {
        let machine = |is_big_endian| Machine { architecture: "any".to_owned(), is_big_endian };
        assert_eq!(machine(true).triple(), "bpfeb-unknown-none");
        assert_eq!(machine(false).triple(), "bpfel-unknown-none");
    }
}
