//! Debian's kernels: fetched by name, unpacked, never installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use bpf_build::process;

use super::board::Board;
use crate::processor::Processor;
use crate::tools::Apt;

/// The smallest of Debian's kernels, made for virtual machines, the one for everything, and the smallest for another processor.
const FLAVOURS: [Flavour; 3] = [
    Flavour { word: "", ending: "-cloud-amd64", processor: Processor::Amd64 },
    Flavour { word: "-generic", ending: "-amd64", processor: Processor::Amd64 },
    Flavour { word: "-arm64", ending: "-cloud-arm64", processor: Processor::Arm64 },
];

/// How kernels of a kind are asked for, and how Debian ends the names of their packages.
#[derive(Debug, PartialEq, Eq)]
struct Flavour {
    word: &'static str,
    ending: &'static str,
    processor: Processor,
}

/// A kernel on disk.
#[derive(Debug)]
pub struct Kernel {
    /// As it was asked for: 6.1, or 6.1-generic.
    pub series: String,
    /// As it calls itself: 6.1.0-56-cloud-amd64.
    pub release: String,
    directory: PathBuf,
}

impl Kernel {
    /// The newest kernel of a series and flavour, fetched unless `cache` has it.
    pub fn provide(series: &str, cache: &Path) -> Result<Self> {
        let apt = Apt::of(processor_of(series))?;
        let package = package_of(series, &apt)?;
        let release = package.trim_start_matches(PACKAGE).to_owned();
        let kernel = Self { series: series.to_owned(), release, directory: cache.join(&package) };
        if !kernel.image().exists() {
            fs::create_dir_all(cache).with_context(|| format!("cannot make {}", cache.display()))?;
            fetch(&package, &apt, cache).with_context(|| format!("cannot fetch the kernel {package}"))?;
        }
        Ok(kernel)
    }

    /// What it runs on.
    pub fn board(&self) -> &'static Board {
        Board::of(processor_of(&self.series))
    }

    /// What QEMU boots.
    pub fn image(&self) -> PathBuf {
        self.directory.join("boot").join(format!("vmlinuz-{}", self.release))
    }

    /// The file of a module; none if that is built into the kernel.
    pub fn module(&self, name: &str) -> Result<Option<PathBuf>> {
        let modules = MODULES.map(|place| self.directory.join(place).join(&self.release));
        let modules = modules.into_iter().find(|place| place.exists()).context("it has no modules")?;
        let builtin = fs::read_to_string(modules.join("modules.builtin"))
            .context("cannot read the built-in modules")?;
        if builtin.lines().any(|line| line.ends_with(&format!("/{name}.ko"))) {
            return Ok(None);
        }
        let found = find(&modules, &[format!("{name}.ko"), format!("{name}.ko.xz")]);
        found.map(Some).with_context(|| format!("the kernel {} has no module {name}", self.release))
    }
}

const PACKAGE: &str = "linux-image-";

/// Where packages of Debian 12 and of 13 keep modules.
const MODULES: [&str; 2] = ["lib/modules", "usr/lib/modules"];

/// Can a kernel of this series be had?
pub fn is_offered(series: &str) -> bool {
    Apt::of(processor_of(series)).is_ok_and(|apt| package_of(series, &apt).is_ok())
}

/// What it runs on.
pub fn processor_of(series: &str) -> Processor {
    parted(series).1.processor
}

/// The newest package of a series that can be had.
fn package_of(series: &str, apt: &Apt) -> Result<String> {
    let (series, Flavour { ending: flavour, .. }) = parted(series);
    if let Some(package) = newest(series, flavour, apt)? {
        return Ok(package);
    }
    apt.refresh();
    let package = newest(series, flavour, apt)?;
    package.with_context(|| {
        format!("apt knows no kernel {PACKAGE}{series}.…{flavour}\n       try a series that it knows, or add Debian's backports to its sources")
    })
}

/// The numbers, and what kind of kernel it is.
fn parted(series: &str) -> (&str, &'static Flavour) {
    let flavoured =
        FLAVOURS.iter().rev().find_map(|flavour| Some((series.strip_suffix(flavour.word)?, flavour)));
    flavoured.expect("everything ends with nothing")
}

/// The endings of names have one in common, so what stands before must be a number.
fn is_of(flavour: &str, package: &str) -> bool {
    let before = package.strip_suffix(flavour).and_then(|rest| rest.rsplit(['-', '+', '.']).next());
    before.is_some_and(|word| word.contains(|c: char| c.is_ascii_digit()))
}

fn newest(series: &str, flavour: &str, apt: &Apt) -> Result<Option<String>> {
    let names = process::output(apt.command("apt-cache").args(["pkgnames", &format!("{PACKAGE}{series}.")]))?;
    let mut packages: Vec<&str> = names.lines().filter(|name| is_of(flavour, name)).collect();
    packages.sort_by_key(|package| std::cmp::Reverse(numbers(package)));
    Ok(packages.into_iter().find(|package| apt.offers(package)).map(ToOwned::to_owned))
}

/// By these the newer of two packages is known.
fn numbers(package: &str) -> Vec<u64> {
    package.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect()
}

fn fetch(package: &str, apt: &Apt, cache: &Path) -> Result<()> {
    let mut apt = apt.command("apt-get");
    apt.args(["--quiet", "download", package]).current_dir(cache);
    eprintln!("$ {}", process::line(&apt));
    process::run_quietly(&mut apt)?;
    let Some(archive) = archive_of(package, cache) else { bail!("apt-get left no package") };
    let (part, whole) = (cache.join(format!("{package}.part")), cache.join(package));
    process::run_quietly(Command::new("dpkg").arg("-x").arg(&archive).arg(&part))?;
    fs::rename(&part, &whole).with_context(|| format!("cannot make {}", whole.display()))?;
    fs::remove_file(&archive).with_context(|| format!("cannot remove {}", archive.display()))
}

fn archive_of(package: &str, cache: &Path) -> Option<PathBuf> {
    let files = fs::read_dir(cache).ok()?.flatten().map(|entry| entry.path());
    let begins = |file: &PathBuf| {
        file.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&format!("{package}_")))
    };
    files.filter(|file| file.extension().is_some_and(|extension| extension == "deb")).find(begins)
}

/// A file of one of these names, anywhere under `directory`.
fn find(directory: &Path, names: &[String]) -> Option<PathBuf> {
    let entries = fs::read_dir(directory).ok()?.flatten();
    entries.map(|entry| entry.path()).find_map(|path| {
        if path.is_dir() && !path.is_symlink() {
            return find(&path, names);
        }
        names.iter().any(|name| path.ends_with(name)).then_some(path)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flavours_are_told_apart() {
        let told = |series| {
            let (series, Flavour { ending, processor, .. }) = parted(series);
            (series, *ending, *processor)
        };
        let [cloud, generic, arm] = ["6.12", "6.12-generic", "6.12-arm64"].map(told);
        assert_eq!(cloud, ("6.12", "-cloud-amd64", Processor::Amd64));
        assert_eq!(generic, ("6.12", "-amd64", Processor::Amd64));
        assert_eq!(arm, ("6.12", "-cloud-arm64", Processor::Arm64));
        let packages =
            ["6.1.0-56-amd64", "6.12.117+deb12-amd64", "6.1.0-56-cloud-amd64", "6.1.0-56-rt-amd64"];
        let of = |flavour| packages.map(|package| is_of(flavour, package));
        assert_eq!((of(cloud.1), of(generic.1)), ([false, false, true, false], [true, true, false, false]));
    }

    #[test]
    fn the_newer_package_has_the_higher_numbers() {
        assert!(numbers("linux-image-6.1.0-56-cloud-amd64") > numbers("linux-image-6.1.0-9-cloud-amd64"));
        assert!(
            numbers("linux-image-6.12.117+deb12-cloud-amd64")
                > numbers("linux-image-6.12.12+bpo-cloud-amd64")
        );
    }
}
