//! `soak package`: the package's life and the service's, in fresh Debians that systemd-nspawn boots, with a neighbour that
//! floods them. What is packed is what `dist` packs.

mod booted;
mod disk;
mod flood;
mod story;
mod versions;
mod wire;

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use bpf_build::{process, workspace};

use crate::dist;
use crate::processor::Processor;
use crate::results::{Report, Results};
use crate::test::Progress;
use crate::told::Told;
use crate::tools::{Tools, asked, tool};
use crate::vm::Vm;
use booted::Booted;

/// Those that a package for Debian is for. Ubuntu's roots cannot be made by every machine's debootstrap.
const RELEASES: [&str; 2] = ["bookworm", "trixie"];

/// The one that is told once more in guests, on kernels of its own.
const OF_THE_GUESTS: &str = "bookworm";

/// Chooses one of them.
const RELEASE: &str = "FILTERD_RELEASE";

/// A package that is there already, such as a release, in the place of one of this tree; and the one that it is upgraded from,
/// where that is to be another.
const PACKAGE: &str = "FILTERD_PACKAGE";
const OLD_PACKAGE: &str = "FILTERD_OLD_PACKAGE";

fn own_package() -> Result<PathBuf> {
    let processor = Processor::of_this_machine();
    dist::package(processor.context("nothing is given away for machines of this kind")?)
}

/// Tells it in each.
pub fn run() -> Result<ExitCode> {
    ensure!(process::is_root(), "booting a Debian needs root");
    let tools = Tools::provide(&[
        asked("debootstrap", "debootstrap", "--version"),
        tool("systemd-nspawn", "systemd-container"),
        tool("nft", "nftables"),
        asked("mkfs.ext4", "e2fsprogs", "-V"),
    ])?;
    let directory = workspace::target()?.join("life");
    fs::create_dir_all(&directory).with_context(|| format!("cannot make {}", directory.display()))?;
    let given = |name: &str| env::var_os(name).map(PathBuf::from);
    let package = given(PACKAGE).map_or_else(own_package, Ok)?;
    let packages =
        versions::of(&given(OLD_PACKAGE).unwrap_or_else(|| package.clone()), &package, &directory)?;
    let chosen = env::var(RELEASE).ok();
    let mut results = Results::default();
    for release in
        RELEASES.into_iter().filter(|release| chosen.as_deref().is_none_or(|name| name == *release))
    {
        let mut report = Report::new(format!("Debian {release}, fresh"));
        report.begin("package");
        let told = booted::base(release, &directory, &tools).and_then(|base| {
            let booted = Booted::boot(&base, directory.join(release), &tools)?;
            packages.copy_into(&booted.root)?;
            let mut told = Told::begin(&mut report);
            story::tell(&booted, &mut told);
            told.end();
            Ok(())
        });
        told.unwrap_or_else(|error| report.complain(format!("{error:#}")));
        results.add(report);
    }
    if chosen.as_deref().is_none_or(|name| name == OF_THE_GUESTS) {
        let base = booted::base(OF_THE_GUESTS, &directory, &tools)?;
        let vm = Vm::of_a_disk(disk::make(&base, &packages, &tools)?);
        let places = vm.places();
        vm.test_where_it_can(&mut results, &Progress::new(), &places);
    }
    Ok(results.tell())
}
