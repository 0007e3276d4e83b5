//! Builds the BPF objects out of filter-ebpf, in a target directory of their own: the cargo around us holds the other.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::embedded::embedded;
use crate::toolchain::{self, Toolchain};
use crate::{process, workspace};

/// The programs, each an object of its own.
pub const OBJECTS: [&str; 3] = ["root", "judge", "egress"];

/// Those that benchmarks measure them with; nobody else needs them.
const BENCH_OBJECTS: [&str; 1] = ["bench-packet"];

/// Those that soaks send and count frames with.
const SOAK_OBJECTS: [&str; 1] = ["soak"];

/// Set to 1 for objects that print each verdict through aya-log.
const LOG: &str = "FILTERD_BPF_LOG";

/// How the kernel is to get them: fast, small enough to verify, and with the names that BTF needs.
const PROFILE: [(&str, &str); 5] = [
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1"),
    ("CARGO_PROFILE_RELEASE_DEBUG", "2"),
    ("CARGO_PROFILE_RELEASE_LTO", "fat"),
    ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "3"),
    ("CARGO_PROFILE_RELEASE_PANIC", "abort"),
];

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
    Ok(build_these(&SOAK_OBJECTS, toolchain)?.join(SOAK_OBJECTS[0]))
}

fn build_these(objects: &[&str], toolchain: &Toolchain) -> Result<PathBuf> {
    let machine = Machine::of_this_build();
    let target = target()?;
    let mut cargo = cargo(toolchain, "build", &machine, &target);
    cargo.args(objects.iter().flat_map(|object| ["--bin", object]));
    process::run(&mut cargo).context("cannot build the BPF programs")?;
    Ok(target.join(machine.triple()).join("release"))
}

/// Looks the programs over with clippy, where this compiler has one, else with the compiler alone.
pub fn lint(toolchain: &Toolchain) -> Result<()> {
    let has_clippy = toolchain.compiler.has_clippy();
    let task = if has_clippy { "clippy" } else { "check" };
    let mut cargo = cargo(toolchain, task, &Machine::of_this_build(), &target()?);
    if has_clippy {
        cargo.args(["--", "-Dwarnings"]);
    }
    process::run(&mut cargo).context("the BPF programs are not in order")
}

/// For filter-daemon/build.rs: builds the objects, and lays them where its code embeds them from.
pub fn embed() -> Result<()> {
    watch();
    let built = build(&toolchain::find()?)?;
    let beside =
        PathBuf::from(env::var_os("OUT_DIR").context("OUT_DIR is not set: this is for build scripts")?);
    for object in OBJECTS {
        let read =
            fs::read(built.join(object)).with_context(|| format!("cannot read the BPF object {object}"))?;
        let embedded = embedded(&read).with_context(|| format!("cannot embed the BPF object {object}"))?;
        let written = fs::write(beside.join(object), embedded);
        written.with_context(|| format!("cannot write the BPF object {object} to {}", beside.display()))?;
    }
    Ok(())
}

/// Tells cargo what the objects are made of.
/// Told from where the build script's package lies, so that a moved or copied tree does not look at the old one.
fn watch() {
    for made_of in ["filter-ebpf", "filter-common", "Cargo.toml", "Cargo.lock"] {
        println!("cargo::rerun-if-changed=../{made_of}");
    }
    println!("cargo::rerun-if-env-changed={LOG}");
}

fn cargo(toolchain: &Toolchain, task: &str, machine: &Machine, target: &Path) -> Command {
    let mut cargo = toolchain.compiler.cargo();
    cargo.args([task, "--release", "--package", "filter-ebpf", "-Zbuild-std=core"]);
    cargo.args(["--target", machine.triple()]).arg("--target-dir").arg(target);
    if is_logging() {
        cargo.args(["--features", "log"]);
    }
    cargo
        .envs(PROFILE)
        .env("CARGO_ENCODED_RUSTFLAGS", flags(toolchain, machine))
        .current_dir(workspace::root());
    cargo
}

fn flags(toolchain: &Toolchain, machine: &Machine) -> String {
    let linker = format!("-Clinker={}", toolchain.linker.display());
    let architecture = format!("--cfg=bpf_target_arch=\"{}\"", machine.architecture);
    [architecture.as_str(), "-Cdebuginfo=2", "-Clink-arg=--btf", "-Ctarget-cpu=v3", &linker].join("\x1f")
}

/// Of its own, and another one for each of the features: two builds at a time must not take each other's objects.
fn target() -> Result<PathBuf> {
    Ok(workspace::target()?.join(if is_logging() { "ebpf-log" } else { "ebpf" }))
}

fn is_logging() -> bool {
    env::var_os(LOG).is_some_and(|value| value == "1")
}

/// The machine whose kernel will run the programs.
struct Machine {
    architecture: String,
    is_big_endian: bool,
}

impl Machine {
    /// In a build script the one that is built for, else the one that we run on.
    fn of_this_build() -> Self {
        let endian = env::var("CARGO_CFG_TARGET_ENDIAN").ok();
        Self {
            architecture: env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_else(|_| env::consts::ARCH.to_owned()),
            is_big_endian: endian.map_or(cfg!(target_endian = "big"), |endian| endian == "big"),
        }
    }

    fn triple(&self) -> &'static str {
        if self.is_big_endian { "bpfeb-unknown-none" } else { "bpfel-unknown-none" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bpf_has_the_endianness_of_its_machine() {
        let machine = |is_big_endian| Machine { architecture: "any".to_owned(), is_big_endian };
        assert_eq!(machine(true).triple(), "bpfeb-unknown-none");
        assert_eq!(machine(false).triple(), "bpfel-unknown-none");
    }
}
