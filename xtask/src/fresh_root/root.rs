//! A fresh Debian in a directory, and what is done in it: in namespaces that end with it, so that nothing stays mounted.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use bpf_build::{process, workspace};

use super::machine::Machine;
use super::packages::{self, Packages};
use crate::tools::Tools;

/// Where a machine keeps certificates of its own; a way into the network may need them.
const CERTIFICATES: &str = "usr/local/share/ca-certificates";

/// A fresh Debian: the smallest that has apt.
pub struct Root {
    directory: PathBuf,
}

impl Root {
    /// Makes one, in the place of what is there.
    pub fn make(machine: &Machine, directory: &Path, tools: &Tools) -> Result<Self> {
        let release = machine.release;
        let root = Self { directory: directory.to_owned() };
        root.clear()?;
        fs::create_dir_all(directory).with_context(|| format!("cannot make {}", directory.display()))?;
        let mut debootstrap = tools.command("debootstrap")?;
        debootstrap.args(["--variant=minbase", release]).arg(directory);
        process::run(&mut debootstrap).with_context(|| format!("cannot make a fresh Debian {release}"))?;
        root.trust(release)?;
        root.perform("apt-get update --quiet")?;
        if !machine.foreign.is_empty() {
            root.mix(release, machine.foreign)?;
        }
        Ok(root)
    }

    /// Brings packages from its backports, whose list then stays known.
    fn mix(&self, release: &str, packages: &[&str]) -> Result<()> {
        let main =
            fs::read_to_string(self.path("etc/apt/sources.list")).context("debootstrap names no source")?;
        let first = main.lines().next().unwrap_or_default();
        let backports = format!("{release}-backports");
        fs::write(
            self.path("etc/apt/sources.list.d/backports.list"),
            first.replace(release, &backports) + "\n",
        )
        .context("cannot name the backports")?;
        let packages = packages.join(" ");
        self.perform("apt-get update --quiet")?;
        self.perform(&format!(
            "apt-get install --no-install-recommends --target-release {backports} {packages}"
        ))
    }

    /// As an installed Debian has it: the archive of mended holes beside the release, from where the release came.
    fn trust(&self, release: &str) -> Result<()> {
        let sources = self.path("etc/apt/sources.list");
        let main = fs::read_to_string(&sources).context("debootstrap names no source")?;
        let mended =
            main.replace("/debian ", "/debian-security ").replace(release, &format!("{release}-security"));
        fs::write(&sources, main + &mended).context("cannot name sources")?;
        fs::write(self.path("etc/apt/apt.conf.d/90unattended"), "APT::Get::Assume-Yes \"true\";\n")
            .context("cannot tell apt that nobody answers")?;
        let own = Path::new("/").join(CERTIFICATES);
        for certificate in fs::read_dir(&own).into_iter().flatten().flatten().map(|entry| entry.path()) {
            let name = certificate.file_name().unwrap_or_default();
            fs::create_dir_all(self.path(CERTIFICATES)).context("cannot keep certificates")?;
            fs::copy(&certificate, self.path(CERTIFICATES).join(name)).context("cannot keep certificates")?;
        }
        Ok(())
    }

    /// A file in it.
    pub fn path(&self, inside: &str) -> PathBuf {
        self.directory.join(inside)
    }

    /// Does what a line of shell says, as its root, at home.
    pub fn perform(&self, line: &str) -> Result<()> {
        println!("\n-- {}: {line}", self.directory.display());
        fs::write(self.path("todo"), format!("cd\n{line}\n")).context("cannot write what is to be done")?;
        let mut enter = Command::new("unshare");
        enter.args(["--mount", "--pid", "--fork", "--kill-child", "sh"]);
        enter.arg(workspace::root().join("tests/fresh/enter.sh")).arg(&self.directory);
        let done = enter.status().context("cannot start unshare")?;
        ensure!(done.success(), "`{line}` failed ({done})");
        Ok(())
    }

    /// The packages that it has.
    pub fn packages(&self) -> Result<Packages> {
        Ok(packages::read(&self.ask(&["dpkg-query", "--show"])?))
    }

    /// These packages, and what they depend on.
    pub fn needed_by(&self, packages: &[String]) -> Result<BTreeSet<String>> {
        let mut words =
            vec!["apt-cache", "depends", "--recurse", "--installed", "--no-recommends", "--no-suggests"];
        words.extend(["--no-conflicts", "--no-breaks", "--no-replaces", "--no-enhances"]);
        words.extend(packages.iter().map(String::as_str));
        let told = self.ask(&words)?;
        Ok(told.lines().filter(|line| !line.starts_with([' ', '<', '|'])).map(packages::bare).collect())
    }

    /// Asks a program of it that needs nothing mounted.
    fn ask(&self, words: &[&str]) -> Result<String> {
        process::output(Command::new("chroot").arg(&self.directory).args(words))
    }

    /// It has done its duty.
    pub fn remove(&self) -> Result<()> {
        self.clear()
    }

    /// Never where something is mounted: that would be removed with it.
    fn clear(&self) -> Result<()> {
        if !self.directory.exists() {
            return Ok(());
        }
        let mounts = fs::read_to_string("/proc/self/mounts").context("cannot tell what is mounted")?;
        let here = self.directory.to_string_lossy();
        if mounts.lines().any(|line| line.split(' ').nth(1).is_some_and(|place| place.starts_with(&*here))) {
            bail!("something is mounted in {here}");
        }
        fs::remove_dir_all(&self.directory).with_context(|| format!("cannot remove {here}"))
    }
}
