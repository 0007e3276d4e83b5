//! `check`: what must hold of the source before anybody reads it.

mod circles;
mod deny;
mod dependencies;
mod exceptions;
mod faults;
mod house;
mod imports;
mod kubernetes;
mod names;
mod product;
mod prose;
mod rooms;
mod source;
mod supply;

use std::{env, fs};

use anyhow::{Context, Result, bail};
use bpf_build::compiled::{self, Held};
use bpf_build::toolchain::{self, Toolchain};
use bpf_build::{ebpf, process, workspace};

use house::House;

/// All of it, the quick ones first.
pub fn all() -> Result<()> {
    words()?;
    if ["NAMES", "PROSE"].iter().any(|variable| env::var_os(variable).is_some()) {
        println!("check: names and prose alone, since NAMES or PROSE is set");
        return Ok(());
    }
    houses_rules()?;
    format()?;
    kubernetes::complain()?;
    deny::complain()?;
    let toolchain = toolchain::ensure()?;
    ebpf::lint(&toolchain)?;
    lints()?;
    objects(&toolchain)?;
    println!("check: all is in order");
    Ok(())
}

/// Who imports whom, where unsafe code lies, what comes from elsewhere, and what holds faults: all complaints
/// at once.
fn houses_rules() -> Result<()> {
    let (files, document) = (source::files(&workspace::root())?, architecture()?);
    let house = House::read(&document);
    let complaints = [
        imports::complaints(&files, &house)?,
        circles::complaints(&files, &house),
        rooms::complaints(&files, &document),
        supply::complaints()?,
        faults::complaints()?,
    ];
    let complaints = complaints.concat();
    if complaints.is_empty() {
        return Ok(());
    }
    complaints.iter().for_each(|complaint| eprintln!("{complaint}"));
    bail!(
        "{} against the rules of the house\n       try ARCHITECTURE.md: who may import whom, and the unsafe rooms; \
         `cargo xtask check --table` prints the table for the code as it is",
        complaints.len()
    )
}

/// Names of functions and types, doc comments, and the prose of docs, help and messages: all complaints at once.
fn words() -> Result<()> {
    let complaints = [names::complaints()?, prose::complaints()?].concat();
    if complaints.is_empty() {
        return Ok(());
    }
    complaints.iter().for_each(|complaint| eprintln!("{complaint}"));
    bail!(
        "{} against the rules of names and prose\n       try xtask/src/check/names.rs and xtask/src/check/prose/rules.rs: \
         they state the rules, and xtask/names.toml and xtask/prose.toml the exceptions",
        complaints.len()
    )
}

/// Prints the table of who imports whom as it would have to be for the code as it is.
pub fn print_table() -> Result<()> {
    let files = source::files(&workspace::root())?;
    print!("{}", imports::table(&files, &House::read(&architecture()?))?);
    Ok(())
}

fn architecture() -> Result<String> {
    fs::read_to_string(workspace::root().join("ARCHITECTURE.md")).context("cannot read ARCHITECTURE.md")
}

/// The objects that come with the source are of this source.
fn objects(toolchain: &Toolchain) -> Result<()> {
    match compiled::hold(toolchain)? {
        Held::ByBytes => println!("check: the BPF objects are what is compiled of them here, byte for byte"),
        Held::BySources { made_with } => println!(
            "check: the BPF objects are of these sources as their MANIFEST says; NOT compared byte for byte, for they were made with\n       {}\n       and here are\n       {}\n       `cargo xtask objects --check` compares them, with the former",
            made_with.join("\n       "),
            toolchain.versions()?.join("\n       ")
        ),
    }
    Ok(())
}

fn format() -> Result<()> {
    let mut fmt = workspace::cargo();
    fmt.args(["fmt", "--all", "--check"]);
    process::run(&mut fmt).context("the format is not rustfmt's: `cargo fmt --all` mends it")
}

fn lints() -> Result<()> {
    let mut clippy = workspace::cargo();
    clippy.args(["clippy", "--workspace", "--exclude", "filter-ebpf", "--all-targets", "--", "-Dwarnings"]);
    process::run(&mut clippy).context("clippy is not content")
}
