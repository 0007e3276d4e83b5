//! Where a tool lies, and how it is started there.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use bpf_build::process;

use super::unpacked::Unpacked;

/// Where a tool lies.
#[derive(Debug)]
pub enum Place {
    /// Where this machine has it.
    Own(PathBuf),
    Unpacked(Unpacked),
}

impl Place {
    /// Starts it where it lies.
    pub fn command(&self, program: &str) -> Command {
        match self {
            Self::Own(file) => Command::new(file),
            Self::Unpacked(unpacked) => unpacked.command(program),
        }
    }

    /// Keeps a wrapper of this name for an unpacked one, and none for the machine's own.
    pub fn keep(&self, wrappers: &Path, program: &str) -> Result<()> {
        let wrapper = wrappers.join(program);
        match self {
            Self::Own(_) if !wrapper.exists() => Ok(()),
            Self::Own(_) => {
                fs::remove_file(&wrapper).with_context(|| format!("cannot remove {}", wrapper.display()))
            }
            Self::Unpacked(unpacked) => write(&wrapper, &unpacked.wrapper(program)),
        }
    }

    /// The program itself.
    pub fn file(&self) -> &Path {
        match self {
            Self::Own(file) => file,
            Self::Unpacked(unpacked) => &unpacked.file,
        }
    }

    /// The libraries that it names, each with its path where it would be installed.
    pub fn libraries(&self) -> Result<Vec<(PathBuf, PathBuf)>> {
        let (mut list, root) = match self {
            Self::Own(file) => (ldd(file), Path::new("/")),
            Self::Unpacked(unpacked) => (unpacked.list(), unpacked.root.as_path()),
        };
        let told = process::output(&mut list)?;
        Ok(told.lines().filter_map(|line| library(line, root)).collect())
    }
}

/// What a line like `libc.so.6 => /lib/libc.so.6 (0x7f…)` tells: the file, and its path where it would be installed. The
/// loader itself is named by that path.
fn library(line: &str, root: &Path) -> Option<(PathBuf, PathBuf)> {
    let mut paths = line.split_whitespace().filter(|word| word.starts_with('/')).map(Path::new);
    let first = paths.next()?;
    let file = paths.next().unwrap_or(first);
    let installed = first.strip_prefix(root).or_else(|_| first.strip_prefix("/")).ok()?;
    Some((file.to_owned(), installed.to_owned()))
}

/// Not written over: somebody may be running the one that is there.
fn write(wrapper: &Path, text: &str) -> Result<()> {
    if fs::read_to_string(wrapper).is_ok_and(|there| there == text) {
        return Ok(());
    }
    let new = wrapper.with_extension(format!("{}.new", std::process::id()));
    let directory = wrapper.parent().context("a wrapper lies in a directory")?;
    let written = fs::create_dir_all(directory)
        .and_then(|()| fs::write(&new, text))
        .and_then(|()| fs::set_permissions(&new, Permissions::from_mode(0o755)))
        .and_then(|()| fs::rename(&new, wrapper));
    written.with_context(|| format!("cannot write {}", wrapper.display()))
}

/// Lists the libraries of a program.
pub fn ldd(file: &Path) -> Command {
    let mut ldd = Command::new("ldd");
    ldd.arg(file);
    ldd
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_goes_where_it_would_be_installed() {
        let cases = [
            ("\tlibc.so.6 => /c/p/lib/libc.so.6 (0x1)", "/c/p/lib/libc.so.6", "lib/libc.so.6"),
            ("\tlibm.so.6 => /lib/libm.so.6 (0x1)", "/lib/libm.so.6", "lib/libm.so.6"),
            ("\t/lib64/ld.so.2 => /c/p/lib/ld.so.2 (0x1)", "/c/p/lib/ld.so.2", "lib64/ld.so.2"),
            ("\t/lib64/ld.so.2 (0x1)", "/lib64/ld.so.2", "lib64/ld.so.2"),
        ];
        for (line, file, place) in cases {
            assert_eq!(library(line, Path::new("/c/p")), Some((file.into(), place.into())), "{line}");
        }
        assert_eq!(library("\tlinux-vdso.so.1 (0x1)", Path::new("/")), None);
    }

    #[test]
    fn libraries_of_local_program_are_named() {
        let libraries = Place::Own("/bin/sh".into()).libraries().unwrap();
        assert!(
            libraries.iter().any(|(_, place)| place.to_string_lossy().contains("libc.so")),
            "{libraries:?}"
        );
        assert!(libraries.iter().all(|(_, place)| place.is_relative()));
    }
}
