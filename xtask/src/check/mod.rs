//! `check`: what must hold of the source before anybody reads it.

mod cycles;
mod deny;
mod dependencies;
mod exceptions;
mod faults;
mod imports;
mod kubernetes;
mod links;
mod names;
mod product;
mod prose;
mod rules;
mod source;
mod supply;
mod unsafe_code;

use std::{env, fs};

use anyhow::{Context, Result, bail, ensure};
use bpf_build::compiled::{self, Held};
use bpf_build::toolchain::{self, Toolchain};
use bpf_build::{ebpf, process, workspace};

use rules::Rules;

/// All of it, the quick ones first.
pub fn all() -> Result<()> {
    if ["NAMES", "PROSE"].iter().any(|variable| env::var_os(variable).is_some()) {
        println!("check: names and prose alone, since NAMES or PROSE is set");
        return words();
    }
    architecture()?;
    words()?;
    links()?;
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

/// Imports, unsafe code, what comes from elsewhere, and tests of faults: all complaints at once.
fn architecture() -> Result<()> {
    let (files, rules) = (source::files(&workspace::root())?, rules()?);
    let complaints = [
        imports::complaints(&files, &rules)?,
        cycles::complaints(&files, &rules),
        unsafe_code::complaints(&files, &rules.unsafe_files),
        supply::complaints()?,
        faults::complaints()?,
    ];
    let complaints = complaints.concat();
    if complaints.is_empty() {
        return Ok(());
    }
    complaints.iter().for_each(|complaint| eprintln!("{complaint}"));
    bail!(
        "{} against the rules of the architecture\n       {} lists what modules may import, and where unsafe code may \
         lie\n       `cargo xtask check --table` prints its section [imports] for the code as it is",
        complaints.len(),
        rules::FILE
    )
}

/// Names of functions and types, doc comments, and the prose of docs, help and messages: all complaints at once.
fn words() -> Result<()> {
    let files = product::files(&workspace::root())?;
    let complaints = [names::complaints(&files)?, prose::complaints(&files)?].concat();
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

/// Links between pages, and the site's table of contents.
fn links() -> Result<()> {
    let complaints = links::complaints()?;
    complaints.iter().for_each(|complaint| eprintln!("{complaint}"));
    ensure!(complaints.is_empty(), "{} links between pages are broken or missing", complaints.len());
    Ok(())
}

/// Prints the section `[imports]` as it would have to be for the code as it is.
pub fn print_table() -> Result<()> {
    let files = source::files(&workspace::root())?;
    print!("{}", imports::section(&files, &rules()?)?);
    Ok(())
}

fn rules() -> Result<Rules> {
    let text = fs::read_to_string(workspace::root().join(rules::FILE));
    Rules::read(&text.with_context(|| format!("cannot read {}", rules::FILE))?)
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
