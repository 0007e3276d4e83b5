//! Debian's kernels: fetched by name, unpacked, never installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use bpf_build::{debian, process};

/// The smallest of Debian's kernels, made for virtual machines, and the one for everything.
const FLAVOURS: [(&str, &str); 2] = [("", "-cloud-amd64"), ("-generic", "-amd64")];

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
        let package = package_of(series)?;
        let release = package.trim_start_matches(PACKAGE).to_owned();
        let kernel = Self { series: series.to_owned(), release, directory: cache.join(&package) };
        if !kernel.image().exists() {
            fs::create_dir_all(cache).with_context(|| format!("cannot make {}", cache.display()))?;
            fetch(&package, cache).with_context(|| format!("cannot fetch the kernel {package}"))?;
        }
        Ok(kernel)
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
    package_of(series).is_ok()
}

/// The newest package of a series that can be had.
fn package_of(series: &str) -> Result<String> {
    let (series, flavour) = parted(series);
    if let Some(package) = newest(series, flavour)? {
        return Ok(package);
    }
    debian::refresh();
    let package = newest(series, flavour)?;
    package.with_context(|| {
        format!("apt knows no kernel {PACKAGE}{series}.…{flavour}\n       try a series that it knows, or add Debian's backports to its sources")
    })
}

/// The numbers, and how Debian ends the names of that flavour's packages.
fn parted(series: &str) -> (&str, &'static str) {
    let flavoured =
        FLAVOURS.iter().rev().find_map(|(word, ending)| Some((series.strip_suffix(word)?, *ending)));
    flavoured.expect("everything ends with nothing")
}

/// The endings of names have one in common, so what stands before must be a number.
fn is_of(flavour: &str, package: &str) -> bool {
    let before = package.strip_suffix(flavour).and_then(|rest| rest.rsplit(['-', '+', '.']).next());
    before.is_some_and(|word| word.contains(|c: char| c.is_ascii_digit()))
}

fn newest(series: &str, flavour: &str) -> Result<Option<String>> {
    let names =
        process::output(Command::new("apt-cache").args(["pkgnames", &format!("{PACKAGE}{series}.")]))?;
    let mut packages: Vec<&str> = names.lines().filter(|name| is_of(flavour, name)).collect();
    packages.sort_by_key(|package| std::cmp::Reverse(numbers(package)));
    Ok(packages.into_iter().find(|package| debian::offers(package)).map(ToOwned::to_owned))
}

/// By these the newer of two packages is known.
fn numbers(package: &str) -> Vec<u64> {
    package.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect()
}

fn fetch(package: &str, cache: &Path) -> Result<()> {
    let mut apt = Command::new("apt-get");
    // The package goes where apt's own user may not write.
    apt.args(["--quiet", "--option", "APT::Sandbox::User=root", "download", package]).current_dir(cache);
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
        let [cloud, generic] = ["6.12", "6.12-generic"].map(parted);
        assert_eq!((cloud, generic), (("6.12", "-cloud-amd64"), ("6.12", "-amd64")));
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
