//! Compilers for BPF. Its library comes in no binary form, so the compiler must bring the source: rustup calls it
//! rust-src, Debian rust-web-src. Stable ones do: they build their own library under RUSTC_BOOTSTRAP.

use std::env;
use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::{debian, process};

/// The oldest that builds aya-ebpf: the workspace's own.
const OLDEST: (u32, u32) = (1, 90);

/// Debian's newest, beside the one that its release is built with. No clippy: nothing is installed that building does not need.
const PACKAGES: [&str; 3] = ["rustc-web", "cargo-web", "rust-web-src"];

/// The LLVM of Debian's newest, before it is there to be asked.
pub const USUAL_LLVM: u32 = 22;

/// What a cargo or rustup around us sets for its own compiler, and what a build script is told: the names begin so.
const LEAKS: [&str; 12] = [
    "CARGO_BUILD_",
    "CARGO_CFG_",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_FEATURE_",
    "CARGO_MANIFEST_",
    "CARGO_PKG_",
    "CARGO_PROFILE_",
    "CARGO_TARGET_",
    "CLIPPY_",
    "RUSTC",
    "RUSTFLAGS",
    "RUSTUP_TOOLCHAIN",
];

/// Of what a build script is told, the names that are whole words. Other build scripts watch them and run anew.
const TOLD: [&str; 7] = ["DEBUG", "HOST", "NUM_JOBS", "OPT_LEVEL", "OUT_DIR", "PROFILE", "TARGET"];

/// A compiler with its cargo and the source of its library.
#[derive(Debug)]
pub struct Compiler {
    directory: PathBuf,
    release: String,
    pub llvm: u32,
    /// What it is, to the commit.
    pub version: String,
}

impl fmt::Display for Compiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} (LLVM {})", self.directory.join("rustc").display(), self.release, self.llvm)
    }
}

impl Compiler {
    /// Its cargo, as if we ourselves were not run by another one.
    pub fn cargo(&self) -> Command {
        let mut cargo = Command::new(self.directory.join("cargo"));
        env::vars_os().filter(|(name, _)| leaks(name)).for_each(|(name, _)| {
            cargo.env_remove(name);
        });
        cargo.env("RUSTC", self.directory.join("rustc")).env("RUSTC_BOOTSTRAP", "1");
        cargo.env("PATH", process::path_with(&self.directory));
        cargo
    }

    /// Has it a clippy of its own?
    pub fn has_clippy(&self) -> bool {
        self.directory.join("cargo-clippy").exists()
    }

    /// Where the source of its library lies.
    pub fn library(&self) -> PathBuf {
        library(self.directory.parent().unwrap_or(&self.directory))
    }

    /// The compiler under this directory, by its real path: rustup's links are none that the compiler itself reports.
    fn at(sysroot: &Path) -> Option<Self> {
        let sysroot = fs::canonicalize(sysroot).ok()?;
        let directory = sysroot.join("bin");
        let source = library(&sysroot).join("library/core/src/lib.rs");
        let whole = source.exists() && directory.join("cargo").exists();
        let about = whole
            .then(|| process::output(Command::new(directory.join("rustc")).arg("-vV")).ok())
            .flatten()?;
        let (release, llvm) = versions(&about)?;
        Some(Self { directory, release, llvm, version: version(&about)? })
    }
}

/// All that are here, best first: rustup's nightly, rustup's others, the distribution's.
pub fn all() -> impl Iterator<Item = Compiler> {
    let sysroots = rustups().into_iter().chain([PathBuf::from("/usr")]);
    sysroots.filter_map(|sysroot| Compiler::at(&sysroot))
}

/// What Debian calls them.
pub fn packages() -> impl Iterator<Item = String> {
    PACKAGES.iter().map(|&package| package.to_owned())
}

/// Installs Debian's, and these other packages with it.
pub fn install(others: &[String]) -> Result<Compiler> {
    debian::install(&packages().chain(others.iter().cloned()).collect::<Vec<_>>())?;
    let installed = Compiler::at(Path::new("/usr"));
    installed.with_context(|| format!("the packages brought no compiler since {}.{}", OLDEST.0, OLDEST.1))
}

fn rustups() -> Vec<PathBuf> {
    let home =
        env::var_os("RUSTUP_HOME").map(PathBuf::from).or_else(|| Some(env::home_dir()?.join(".rustup")));
    let entries = home.and_then(|home| fs::read_dir(home.join("toolchains")).ok());
    let mut toolchains: Vec<_> = entries.into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    toolchains.sort_by_key(|path| (rank(path), path.clone()));
    toolchains
}

/// `nightly` before `nightly-2026-05-19` before all others.
fn rank(toolchain: &Path) -> u32 {
    let name = toolchain.file_name().unwrap_or_default().to_string_lossy();
    match name.strip_prefix("nightly") {
        Some(rest) if !rest.starts_with("-2") => 0,
        Some(_) => 1,
        None => 2,
    }
}

/// The release and the LLVM, out of what `rustc -vV` prints, unless it is too old.
fn versions(about: &str) -> Option<(String, u32)> {
    let field = |name: &str| about.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    let release = field("release")?;
    let mut numbers = release.split('.').map_while(|number| number.parse().ok());
    let version = (numbers.next()?, numbers.next()?);
    let llvm = field("LLVM version")?.split('.').next()?.parse().ok()?;
    (version >= OLDEST).then(|| (release.to_owned(), llvm))
}

/// What two of which nothing is known would have in common if they are the same.
fn version(about: &str) -> Option<String> {
    let llvm = about.lines().find_map(|line| line.strip_prefix("LLVM version: "))?;
    Some(format!("{}, LLVM {llvm}", about.lines().next()?))
}

fn library(sysroot: &Path) -> PathBuf {
    sysroot.join("lib/rustlib/src/rust")
}

fn leaks(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    TOLD.contains(&name.as_ref()) || LEAKS.iter().any(|leak| name.starts_with(leak))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABOUT: &str =
        "rustc 1.96.0 (ac68faa20 2026-05-25)\nbinary: rustc\nrelease: 1.96.0\nLLVM version: 22.1.8\n";

    #[test]
    fn a_compiler_tells_its_release_and_its_llvm() {
        assert_eq!(versions(ABOUT), Some(("1.96.0".to_owned(), 22)));
        let nightly = ABOUT.replace("1.96.0", "1.97.0-nightly");
        assert_eq!(versions(&nightly), Some(("1.97.0-nightly".to_owned(), 22)));
    }

    #[test]
    fn compiler_reports_its_commit() {
        assert_eq!(version(ABOUT).unwrap(), "rustc 1.96.0 (ac68faa20 2026-05-25), LLVM 22.1.8");
    }

    #[test]
    fn too_old_compiler_is_not_used() {
        assert_eq!(versions(&ABOUT.replace("1.96.0", "1.63.0")), None);
        assert_eq!(versions("rustc 1.96.0"), None);
    }

    #[test]
    fn the_plain_nightly_comes_first() {
        let mut names = ["stable-x86_64", "nightly-2026-05-19-x86_64", "1.95.0-x86_64", "nightly-x86_64"];
        names.sort_by_key(|name| rank(Path::new(name)));
        assert_eq!(names[..2], ["nightly-x86_64", "nightly-2026-05-19-x86_64"]);
    }

    #[test]
    fn outer_cargo_environment_does_not_leak() {
        for name in [
            "RUSTC",
            "RUSTC_WORKSPACE_WRAPPER",
            "CARGO_TARGET_DIR",
            "CARGO_ENCODED_RUSTFLAGS",
            "RUSTUP_TOOLCHAIN",
        ] {
            assert!(leaks(OsStr::new(name)), "{name}");
        }
        for name in ["CARGO_HOME", "CARGO_HTTP_CAINFO", "HOSTNAME", "HOME", "RUSTUP_HOME", "PATH"] {
            assert!(!leaks(OsStr::new(name)), "{name}");
        }
    }
}
