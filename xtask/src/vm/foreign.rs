//! Programs for guests of another kind of processor: out of Debian's packages for that, with the libraries that they name.
//! None of them runs here, so their files are asked, and not their loader.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use object::elf::{DT_NEEDED, FileHeader64};
use object::read::elf::{Dyn, ElfFile, ProgramHeader};
use object::{Endianness, Object, ObjectSection};

use crate::processor::Processor;
use crate::tools;

/// What the guest's init and stories call.
const PACKAGES: [&str; 8] = [
    "bpftool",
    "busybox-static",
    "coreutils",
    "iproute2",
    "libgcc-s1",
    "strace",
    "util-linux",
    "wireguard-tools",
];

/// Where packages keep programs.
const PROGRAMS: [&str; 4] = ["usr/bin", "bin", "usr/sbin", "sbin"];

/// Packages, unpacked.
pub struct Foreign {
    root: PathBuf,
    processor: Processor,
}

impl Foreign {
    /// Fetches them, unless they are here.
    pub fn provide(processor: Processor) -> Result<Self> {
        let has = |root: &Path| {
            found(root, &PROGRAMS, "ip").is_some() && found(root, &PROGRAMS, "strace").is_some()
        };
        Ok(Self { root: tools::of_another(processor, &PACKAGES, has)?, processor })
    }

    /// The file of a program.
    pub fn program(&self, name: &str) -> Result<PathBuf> {
        found(&self.root, &PROGRAMS, name).with_context(|| format!("no package for guests brings {name}"))
    }

    /// The libraries that a program needs, and these in turn, each with its path where it would be installed; and the loader.
    pub fn libraries(&self, program: &Path) -> Result<Vec<(PathBuf, PathBuf)>> {
        let (mut names, mut unread) = (BTreeSet::new(), vec![program.to_owned()]);
        let mut libraries = Vec::new();
        while let Some(file) = unread.pop() {
            let needed = needed(&file).with_context(|| format!("cannot read {}", file.display()))?;
            for name in needed {
                if names.contains(&name) {
                    continue;
                }
                let (library, place) = self.library(&name)?;
                unread.push(library.clone());
                libraries.push((library, place));
                names.insert(name);
            }
        }
        Ok(libraries)
    }

    /// The loader is named by its path in programs, and by its file in libraries.
    fn library(&self, name: &str) -> Result<(PathBuf, PathBuf)> {
        let family = format!("{}-linux-gnu", self.processor.rust());
        let places = ["lib", "usr/lib"].map(|place| format!("{place}/{family}"));
        let places = [places[0].as_str(), places[1].as_str(), "lib", "usr/lib"];
        let file = found(&self.root, &places, name);
        let file = file.with_context(|| format!("no package for guests brings {name}"))?;
        let place = if name.starts_with("ld-linux") { "lib".to_owned() } else { format!("lib/{family}") };
        Ok((file, Path::new(&place).join(name)))
    }
}

fn found(root: &Path, directories: &[&str], name: &str) -> Option<PathBuf> {
    directories.iter().map(|directory| root.join(directory).join(name)).find(|file| file.is_file())
}

/// The names under which a file asks for libraries, and for the program that loads it.
fn needed(file: &Path) -> Result<Vec<String>> {
    let bytes = fs::read(file)?;
    let elf = ElfFile::<FileHeader64<Endianness>>::parse(&*bytes)?;
    let endian = elf.endian();
    let text = match elf.section_by_name(".dynstr") {
        Some(section) => section.data()?,
        None => &[],
    };
    let word = |at: usize| -> Result<String> {
        let rest = text.get(at..).context("it names something outside of its names")?;
        let word = rest.split(|byte| *byte == 0).next().unwrap_or_default();
        Ok(String::from_utf8_lossy(word).into_owned())
    };
    let mut names = Vec::new();
    for header in elf.elf_program_headers() {
        if let Some(entries) = header.dynamic(endian, &*bytes)? {
            for entry in entries.iter().filter(|entry| entry.d_tag(endian) == DT_NEEDED) {
                names.push(word(usize::try_from(entry.d_val(endian))?)?);
            }
        }
        if let Some(loader) = header.interpreter(endian, &*bytes)? {
            let path = String::from_utf8_lossy(loader);
            let name = path.rsplit('/').next().unwrap_or_default().to_owned();
            ensure!(!name.is_empty(), "it names no loader");
            names.push(name);
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn needed_libraries_are_read_without_running() {
        let names = needed(Path::new("/bin/sh")).unwrap();
        assert!(names.iter().any(|name| name.starts_with("libc.so")), "{names:?}");
        assert!(names.iter().any(|name| name.starts_with("ld-linux")), "{names:?}");
    }
}
