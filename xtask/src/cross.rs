//! Who builds what is given away: this machine's own cargo, or, for another processor, one with a library for that, and a C
//! compiler and linker that are fetched and not installed.

use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use bpf_build::toolchain::{self, Compiler};
use bpf_build::{process, workspace};

use crate::processor::Processor;
use crate::tools::{Tool, Tools, asked, tool};

/// What the compiler for arm64 and its C library come with. The compiler works if it links what needs no other library.
const FOR_ARM64: [Tool; 2] = [
    asked(C_COMPILER, "g++-aarch64-linux-gnu", "-static -nostartfiles -x c /dev/null -o /dev/null"),
    tool(ARCHIVER, "g++-aarch64-linux-gnu"),
];

const C_COMPILER: &str = "aarch64-linux-gnu-gcc";
const ARCHIVER: &str = "aarch64-linux-gnu-ar";

/// Of Rust's library, what programs are linked with.
const LIBRARY: &str = "std,panic_unwind";

/// A cargo, and what it needs to build for a processor.
pub struct Builder {
    pub processor: Processor,
    other: Option<Other>,
}

/// What this machine's own cargo has not.
struct Other {
    tools: Tools,
    /// One that brings the source of its library, where the own one has none for that processor.
    compiler: Option<Compiler>,
}

impl Builder {
    /// Finds what building for it needs, and fetches what is missing.
    pub fn of(processor: Processor) -> Result<Self> {
        let own = Processor::of_this_machine();
        if own == Some(processor) {
            return Ok(Self { processor, other: None });
        }
        ensure!(
            own == Some(Processor::Amd64),
            "only a machine of x86-64 can build for another processor\n       try `--arch` with its own"
        );
        let other = Other::of(processor).with_context(|| {
            format!("cannot build for {} (`--arch amd64` leaves that out)", processor.debian())
        })?;
        Ok(Self { processor, other: Some(other) })
    }

    /// Is it for another processor than this machine's?
    pub fn is_for_another(&self) -> bool {
        self.other.is_some()
    }

    /// It is told nothing of where it is to build.
    pub fn cargo(&self) -> Result<Command> {
        let Some(Other { tools, compiler }) = &self.other else { return Ok(workspace::cargo()) };
        let mut cargo = match compiler {
            None => workspace::cargo(),
            Some(compiler) => {
                let mut cargo = compiler.cargo();
                cargo.current_dir(workspace::root()).env("CARGO_UNSTABLE_BUILD_STD", LIBRARY);
                cargo
            }
        };
        let triple = self.processor.triple();
        let [lower, upper] = [triple.replace('-', "_"), triple.replace('-', "_").to_uppercase()];
        let gcc = tools.file(C_COMPILER)?;
        cargo.env(format!("CARGO_TARGET_{upper}_LINKER"), linker(&gcc)?);
        cargo.env(format!("CC_{lower}"), &gcc).env(format!("AR_{lower}"), tools.file(ARCHIVER)?);
        cargo.env("CARGO_BUILD_TARGET", triple);
        Ok(cargo)
    }

    /// Where cargo puts what it builds in this target directory.
    pub fn within(&self, target: &Path) -> PathBuf {
        if self.is_for_another() { target.join(self.processor.triple()) } else { target.to_owned() }
    }

    /// Where the source of Rust's library lies, or would.
    pub fn library(&self) -> Result<PathBuf> {
        if let Some(Other { compiler: Some(compiler), .. }) = &self.other {
            return Ok(compiler.library());
        }
        let root = process::output(own_compiler().args(["--print", "sysroot"]))?;
        Ok(Path::new(root.trim()).join("lib/rustlib/src/rust"))
    }
}

impl Other {
    fn of(processor: Processor) -> Result<Self> {
        let tools = Tools::provide(&FOR_ARM64)?;
        let compiler = if has_library(processor) { None } else { Some(toolchain::compiler()?) };
        Ok(Self { tools, compiler })
    }
}

/// What is called to link.
fn linker(gcc: &Path) -> Result<PathBuf> {
    let linker = workspace::target()?.join("cross-linker");
    let text = include_str!("cross/linker.sh").replace("GCC", &format!("'{}'", gcc.display()));
    let written = fs::write(&linker, text)
        .and_then(|()| fs::set_permissions(&linker, fs::Permissions::from_mode(0o755)));
    written.with_context(|| format!("cannot write {}", linker.display()))?;
    Ok(linker)
}

/// As after `rustup target add`.
fn has_library(processor: Processor) -> bool {
    let triple = processor.triple();
    let asked = process::output(own_compiler().args(["--print", "target-libdir", "--target", &triple]));
    asked.is_ok_and(|place| Path::new(place.trim()).exists())
}

/// Cargo names another compiler where it uses one.
fn own_compiler() -> Command {
    Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
}
