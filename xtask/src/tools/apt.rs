//! apt, asked about packages for this machine's processor; or for another one, with lists of its own in the cache, as if it
//! ran on such a machine and nothing were installed there; or about Debian 13's backports, with lists of its own, too. This
//! machine's sources, lists and architectures stay as they are.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use bpf_build::{debian, process, workspace};

use super::backports;
use crate::processor::Processor;

/// Whom to ask.
#[derive(Debug, Clone)]
pub enum Apt {
    /// This machine's, as it is set up.
    Own,
    /// This machine's sources, for another processor.
    Other { processor: Processor, directory: PathBuf },
    /// The backports of Debian 13 alone, from the mirror that this machine uses.
    Backports { processor: Processor, directory: PathBuf },
}

/// What is in the directory of an apt with lists of its own.
const PLACES: [&str; 2] = ["lists/partial", "cache/archives/partial"];

/// Where the one for backports reads its only source.
const SOURCES: &str = "backports.sources";

impl Apt {
    /// The one that knows packages for it.
    pub fn of(processor: Processor) -> Result<Self> {
        if Processor::of_this_machine() == Some(processor) {
            return Ok(Self::Own);
        }
        Ok(Self::Other { processor, directory: make_directory(processor.debian())? })
    }

    /// The one that knows the backports. It fails where this machine's apt has no mirror of Debian.
    pub fn of_backports(processor: Processor) -> Result<Self> {
        let source = backports::source()?;
        let directory = make_directory(&format!("{}-{}", backports::SUITE, processor.debian()))?;
        fs::write(directory.join(SOURCES), source).context("cannot write apt's sources")?;
        Ok(Self::Backports { processor, directory })
    }

    /// One of its programs, `apt-get` or `apt-cache`, which goes where apt's own user may not write.
    pub fn command(&self, program: &str) -> Command {
        let mut apt = Command::new(program);
        apt.args(["--option", "APT::Sandbox::User=root"]);
        for option in self.options() {
            apt.args(["--option", &option]);
        }
        apt
    }

    fn options(&self) -> Vec<String> {
        let (Self::Other { processor, directory } | Self::Backports { processor, directory }) = self else {
            return Vec::new();
        };
        let set = |name: &str, place: &str| format!("Dir::{name}={}", directory.join(place).display());
        let architecture = processor.debian();
        let mut options = vec![
            format!("APT::Architecture={architecture}"),
            format!("APT::Architectures={architecture}"),
            set("State::Lists", "lists"),
            set("State::status", "status"),
            set("Cache", "cache"),
        ];
        if matches!(self, Self::Backports { .. }) {
            options.extend([set("Etc::sourcelist", SOURCES), "Dir::Etc::sourceparts=/dev/null".to_owned()]);
        }
        options
    }

    /// Reads the lists of packages anew. A list that cannot be read is no reason to stop: an older one may do.
    pub fn refresh(&self) {
        match self {
            Self::Own => debian::refresh(),
            Self::Other { directory, .. } | Self::Backports { directory, .. } => {
                let _alone = super::lock(directory);
                let _ = process::run(self.command("apt-get").args(["update", "--quiet"]));
            }
        }
    }

    /// Could this package be had?
    pub fn offers(&self, package: &str) -> bool {
        // `apt-cache show` also knows packages that are installed and that no mirror has any more.
        let mut asked = self.command("apt-get");
        asked.args(["--print-uris", "download", package]).stdout(Stdio::null()).stderr(Stdio::null());
        asked.status().is_ok_and(|status| status.success())
    }
}

/// The place of an apt with lists of its own, where nothing is installed.
fn make_directory(name: &str) -> Result<PathBuf> {
    let cache = workspace::cache().context("there is no cache: HOME is not set")?;
    let directory = cache.join("tools").join(format!("apt-{name}"));
    for place in PLACES {
        let place = directory.join(place);
        fs::create_dir_all(&place).with_context(|| format!("cannot make {}", place.display()))?;
    }
    fs::write(directory.join("status"), "").context("cannot say that nothing is installed")?;
    Ok(directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_apt_has_its_own_lists_and_sources() {
        let (arm, amd) = (Processor::Arm64, Processor::Amd64);
        let other = Apt::Other { processor: arm, directory: "/c/arm".into() };
        let backports = Apt::Backports { processor: amd, directory: "/c/bpo".into() };
        for (apt, has, lacks) in [
            (&Apt::Own, &["User=root"][..], &["Dir::", "APT::Architecture"][..]),
            (
                &other,
                &["APT::Architectures=arm64", "Dir::State::Lists=/c/arm/lists", "Dir::Cache=/c/arm/cache"],
                &["Dir::Etc"],
            ),
            (
                &backports,
                &[
                    "APT::Architectures=amd64",
                    "Dir::State::Lists=/c/bpo/lists",
                    "Dir::Etc::sourcelist=/c/bpo/backports.sources",
                    "Dir::Etc::sourceparts=/dev/null",
                ],
                &["arm64"],
            ),
        ] {
            let line = process::line(apt.command("apt-cache").arg("policy"));
            assert!(has.iter().all(|word| line.contains(word)), "{line}");
            assert!(lacks.iter().all(|word| !line.contains(word)), "{line}");
        }
    }
}
