//! Debian's kernels: fetched by name, unpacked, never installed.

use std::ffi::OsStr;
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
    /// As it was asked for: 6.1, 6.1-generic, or 7 for the newest 7.x.
    pub series: String,
    /// As it calls itself: 6.1.0-56-cloud-amd64.
    pub release: String,
    directory: PathBuf,
}

impl Kernel {
    /// The newest kernel of a series and flavour, fetched unless `cache` has it.
    pub fn provide(series: &str, cache: &Path) -> Result<Self> {
        Self::unpack(series, &find_offer(series)?, cache).or_else(|_| {
            // apt's lists may be so old that the mirror no longer has the package that they name.
            refresh(processor_of(series));
            Self::unpack(series, &find_offer(series)?, cache)
        })
    }

    fn unpack(series: &str, offer: &Offer, cache: &Path) -> Result<Self> {
        let Offer { package, apt } = offer;
        let release = package.trim_start_matches(PACKAGE).to_owned();
        let kernel = Self { series: series.to_owned(), release, directory: cache.join(package) };
        if !kernel.image().exists() {
            fs::create_dir_all(cache).with_context(|| format!("cannot make {}", cache.display()))?;
            fetch(package, apt, cache).with_context(|| format!("cannot fetch the kernel {package}"))?;
        }
        Ok(kernel)
    }

    /// What it runs on.
    pub fn board(&self) -> &'static Board {
        Board::of(processor_of(&self.series))
    }

    /// What QEMU boots. Since 7.0 it lies beside the modules.
    pub fn image(&self) -> PathBuf {
        let image = self.modules().map(|modules| modules.join("vmlinuz")).filter(|image| image.exists());
        image.unwrap_or_else(|| self.directory.join("boot").join(format!("vmlinuz-{}", self.release)))
    }

    /// Is it this version, or a newer one?
    pub fn is_at_least(&self, version: [u64; 2]) -> bool {
        numbers(&self.release).as_slice() >= version.as_slice()
    }

    /// The file of a module; none if that is built into the kernel. A hyphen in the file's name is an underscore here.
    pub fn module(&self, name: &str) -> Result<Option<PathBuf>> {
        let modules = self.modules().context("it has no modules")?;
        let builtin = fs::read_to_string(modules.join("modules.builtin"))
            .context("cannot read the built-in modules")?;
        let is_it = |path: &Path| {
            let file = path.file_name().and_then(OsStr::to_str).unwrap_or_default().replace('-', "_");
            file.strip_prefix(name).is_some_and(|rest| rest == ".ko" || rest == ".ko.xz")
        };
        if builtin.lines().any(|line| is_it(Path::new(line))) {
            return Ok(None);
        }
        let found = find(&modules, &is_it);
        found.map(Some).with_context(|| format!("the kernel {} has no module {name}", self.release))
    }

    fn modules(&self) -> Option<PathBuf> {
        let places = MODULES.map(|place| self.directory.join(place).join(&self.release));
        places.into_iter().find(|place| place.exists())
    }
}

/// A package of a kernel, and the apt that has it.
struct Offer {
    package: String,
    apt: Apt,
}

const PACKAGE: &str = "linux-image-";

/// Where packages of Debian 12 and of 13 keep modules.
const MODULES: [&str; 2] = ["lib/modules", "usr/lib/modules"];

/// Can a kernel of this series be had?
pub fn is_offered(series: &str) -> bool {
    find_offer(series).is_ok()
}

/// What it runs on.
pub fn processor_of(series: &str) -> Processor {
    parted(series).1.processor
}

/// The newest package of a series that can be had.
fn find_offer(series: &str) -> Result<Offer> {
    if let Some(offer) = find_offer_in_lists(series)? {
        return Ok(offer);
    }
    refresh(processor_of(series));
    find_offer_in_lists(series)?.with_context(|| {
        let (series, Flavour { ending: flavour, .. }) = parted(series);
        format!("apt knows no kernel {PACKAGE}{series}.…{flavour}\n       try a series that it knows, or add Debian's backports to its sources")
    })
}

/// This machine's own apt is asked first. Debian 13's backports have the newest kernels.
fn find_offer_in_lists(series: &str) -> Result<Option<Offer>> {
    let processor = processor_of(series);
    let own = Apt::of(processor)?;
    if let Some(package) = newest(series, &own)? {
        return Ok(Some(Offer { package, apt: own }));
    }
    let Ok(backports) = Apt::of_backports(processor) else { return Ok(None) };
    let package = newest(series, &backports)?;
    Ok(package.map(|package| Offer { package, apt: backports }))
}

/// This machine's own lists come first: they say where a mirror of Debian is.
fn refresh(processor: Processor) {
    let _ = Apt::of(processor).map(|own| own.refresh());
    let _ = Apt::of_backports(processor).map(|backports| backports.refresh());
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

fn newest(series: &str, apt: &Apt) -> Result<Option<String>> {
    let (series, Flavour { ending: flavour, .. }) = parted(series);
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
    let about = process::output(apt.command("apt-cache").args(["show", "--no-all-versions", package]))?;
    let packages: Vec<&str> = parts(&about, package.trim_start_matches(PACKAGE)).chain([package]).collect();
    let mut download = apt.command("apt-get");
    download.args(["--quiet", "download"]).args(&packages).current_dir(cache);
    eprintln!("$ {}", process::line(&download));
    process::run_quietly(&mut download)?;
    let (part, whole) = (cache.join(format!("{package}.part")), cache.join(package));
    for package in packages {
        let Some(archive) = archive_of(package, cache) else { bail!("apt-get left no package {package}") };
        process::run_quietly(Command::new("dpkg").arg("-x").arg(&archive).arg(&part))?;
        fs::remove_file(&archive).with_context(|| format!("cannot remove {}", archive.display()))?;
    }
    fs::rename(&part, &whole).with_context(|| format!("cannot make {}", whole.display()))
}

/// The packages that a kernel's own package depends on, and that end with its release. Since 6.18 the lists of modules, and
/// since 7.0 the image and the modules, have packages of their own.
fn parts<'a>(about: &'a str, release: &'a str) -> impl Iterator<Item = &'a str> {
    let depends = about.lines().find_map(|line| line.strip_prefix("Depends:")).unwrap_or_default();
    let names = depends.split([',', '|']).filter_map(|name| name.split_whitespace().next());
    names.filter(move |name| name.strip_suffix(release).is_some_and(|name| name.ends_with('-')))
}

fn archive_of(package: &str, cache: &Path) -> Option<PathBuf> {
    let files = fs::read_dir(cache).ok()?.flatten().map(|entry| entry.path());
    let begins = |file: &PathBuf| {
        file.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&format!("{package}_")))
    };
    files.filter(|file| file.extension().is_some_and(|extension| extension == "deb")).find(begins)
}

/// A file like this, anywhere under `directory`.
fn find(directory: &Path, is_it: &impl Fn(&Path) -> bool) -> Option<PathBuf> {
    let entries = fs::read_dir(directory).ok()?.flatten();
    entries.map(|entry| entry.path()).find_map(|path| {
        if path.is_dir() && !path.is_symlink() {
            return find(&path, is_it);
        }
        is_it(&path).then_some(path)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_flavours_are_distinguished() {
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
        for (newer, older) in [
            ("linux-image-6.1.0-56-cloud-amd64", "linux-image-6.1.0-9-cloud-amd64"),
            ("linux-image-6.12.117+deb12-cloud-amd64", "linux-image-6.12.12+bpo-cloud-amd64"),
            ("linux-image-7.10.1+deb13-cloud-amd64", "linux-image-7.3.4+deb13-cloud-amd64"),
        ] {
            assert!(numbers(newer) > numbers(older), "{newer} {older}");
        }
    }

    #[test]
    fn versions_are_compared_by_number() {
        for (release, version, is_at_least) in [
            ("6.12.117+deb12-cloud-amd64", [6, 15], false),
            ("6.15.0+deb13-amd64", [6, 15], true),
            ("6.1.0-56-cloud-amd64", [6, 1], true),
            ("7.3.4+deb13-cloud-amd64", [6, 15], true),
        ] {
            let release = release.to_owned();
            let kernel = Kernel { series: String::new(), release, directory: PathBuf::new() };
            assert_eq!(kernel.is_at_least(version), is_at_least, "{kernel:?}");
        }
    }

    #[test]
    fn a_split_kernel_names_its_parts() {
        let whole = "Depends: kmod, initramfs-tools (>= 0.120) | linux-initramfs-tool\n";
        let split = "Package: linux-image-7.3-a\nPre-Depends: linux-base (>= 4.17~)\n\
                     Depends: dracut | linux-initramfs-tool, linux-base-7.3-a (= 7.3-1), linux-binary-7.3-a (= 7.3-1) | linux-binary-7.3-a-unsigned, linux-modules-7.3-a\n\
                     Suggests: linux-doc-7.3-a\n";
        for (about, found) in [
            (whole, &[][..]),
            (split, &["linux-base-7.3-a", "linux-binary-7.3-a", "linux-modules-7.3-a"]),
            ("", &[]),
        ] {
            assert_eq!(parts(about, "7.3-a").collect::<Vec<_>>(), found, "{about}");
        }
    }

    #[test]
    fn images_and_modules_are_found_in_each_layout() {
        let top = std::env::temp_dir().join(format!("filterd-kernels-{}", std::process::id()));
        for (release, modules, image) in [
            ("6.1.0-56-amd64", "lib/modules", "boot/vmlinuz-6.1.0-56-amd64"),
            ("6.12.9+deb13-amd64", "usr/lib/modules", "boot/vmlinuz-6.12.9+deb13-amd64"),
            ("7.3.4+deb13-amd64", "usr/lib/modules", "usr/lib/modules/7.3.4+deb13-amd64/vmlinuz"),
        ] {
            let directory = top.join(release);
            let modules = directory.join(modules).join(release);
            let (image, veth) = (directory.join(image), modules.join("kernel/net/veth.ko.xz"));
            let chacha = modules.join("kernel/arch/x86/crypto/chacha-x86_64.ko");
            let builtin = modules.join("modules.builtin");
            for (file, text) in
                [(&image, ""), (&veth, ""), (&chacha, ""), (&builtin, "kernel/fs/ext4/ext4.ko\n")]
            {
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, text).unwrap();
            }
            let kernel = Kernel { series: String::new(), release: release.to_owned(), directory };
            assert_eq!(kernel.image(), image);
            assert_eq!(kernel.module("veth").unwrap(), Some(veth));
            assert_eq!(kernel.module("ext4").unwrap(), None);
            assert_eq!(kernel.module("chacha_x86_64").unwrap(), Some(chacha));
            assert!(kernel.module("crc32c_generic").is_err());
        }
        fs::remove_dir_all(top).unwrap();
    }
}
