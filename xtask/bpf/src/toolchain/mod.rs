//! What building for BPF needs: a compiler that brings the source of its library, and a linker whose LLVM is no older.
//!
//! This is the only place in the project that knows where they come from.

mod compiler;
mod linker;

use std::fmt;
use std::path::PathBuf;

use anyhow::{Result, anyhow};

use crate::debian;
pub use compiler::Compiler;

const BRING_YOUR_OWN: &str =
    "       or bring your own: `rustup toolchain install nightly --component rust-src`, and a bpf-linker
       whose LLVM is no older than that compiler's: `cargo binstall bpf-linker`";

/// A compiler and a linker that fit together.
#[derive(Debug)]
pub struct Toolchain {
    pub compiler: Compiler,
    pub linker: PathBuf,
}

impl fmt::Display for Toolchain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "compiler  {}\nlinker    {}", self.compiler, self.linker.display())
    }
}

impl Toolchain {
    /// What both are. Where it says the same, the same sources become the same objects.
    pub fn versions(&self) -> Result<[String; 2]> {
        Ok([self.compiler.version.clone(), linker::told(&self.linker, self.compiler.llvm)?])
    }
}

/// The toolchain that is there. Takes milliseconds and changes nothing.
pub fn find() -> Result<Toolchain> {
    search().ok_or_else(|| {
        anyhow!(
            "cannot build for BPF: {}\n       try `cargo xtask build` (or `cargo xtask toolchain`): it installs what is missing",
            missing()
        )
    })
}

/// The toolchain that is there, else one installed now.
pub fn ensure() -> Result<Toolchain> {
    if let Some(toolchain) = search() {
        return Ok(toolchain);
    }
    eprintln!("{}: installing it, once.", missing());
    install()
        .map_err(|error| anyhow!("cannot install what building for BPF needs: {error:#}\n{BRING_YOUR_OWN}"))
}

/// The toolchain of these versions where it is here, else another one that is, else one installed now.
pub fn ensure_like(versions: &[String]) -> Result<Toolchain> {
    search_for(versions).map_or_else(ensure, Ok)
}

/// The toolchain of exactly these versions: one that is here, else the one that is installed where there is none.
pub fn of_versions(wanted: &[String]) -> Result<Toolchain> {
    must_be(wanted, install)
}

/// The same, installed so.
pub(crate) fn must_be(wanted: &[String], install: impl FnOnce() -> Result<Toolchain>) -> Result<Toolchain> {
    if let Some(toolchain) = search_for(wanted) {
        return Ok(toolchain);
    }
    let installed = install();
    search_for(wanted).ok_or_else(|| {
        let here: Vec<_> = all().filter_map(|other| other.versions().ok()).map(|it| it.join(", ")).collect();
        let refused = installed.err().map(|error| format!("\n       {error:#}")).unwrap_or_default();
        anyhow!(
            "no toolchain here is\n       {}\n       but{}{refused}",
            wanted.join("\n       "),
            if here.is_empty() {
                " none at all".to_owned()
            } else {
                format!("\n       {}", here.join("\n       "))
            }
        )
    })
}

/// A compiler that builds its own library for whatever it is asked for: the one that is there, else one installed now.
pub fn compiler() -> Result<Compiler> {
    if let Some(compiler) = compiler::all().next() {
        return Ok(compiler);
    }
    debian::refresh();
    compiler::install(&[]).map_err(|error| anyhow!("{}: {error:#}", missing()))
}

/// The packages of Debian's that a machine is given where it lacks them, and no others.
pub fn packages() -> Vec<String> {
    compiler::packages().chain(linker::packages(compiler::USUAL_LLVM)).collect()
}

fn search() -> Option<Toolchain> {
    all().next()
}

fn search_for(versions: &[String]) -> Option<Toolchain> {
    all().find(|toolchain| toolchain.versions().is_ok_and(|its| its == versions))
}

fn all() -> impl Iterator<Item = Toolchain> {
    compiler::all().filter_map(|compiler| {
        let linker = linker::find(compiler.llvm)?;
        Some(Toolchain { compiler, linker })
    })
}

fn install() -> Result<Toolchain> {
    debian::refresh();
    let compiler = match compiler::all().find(|compiler| linker::can_be_built(compiler.llvm)) {
        Some(compiler) => compiler,
        None => compiler::install(&linker::packages(compiler::USUAL_LLVM))?,
    };
    let linker = linker::install(&compiler)?;
    Ok(Toolchain { compiler, linker })
}

fn missing() -> String {
    match compiler::all().next() {
        Some(compiler) => {
            format!("no bpf-linker with LLVM {} or newer is here for {compiler}", compiler.llvm)
        }
        None => "no Rust compiler here brings the source of its library".to_owned(),
    }
}
