//! apt, asked about packages for this machine's processor; or for another one, with lists of its own in the cache, as if it
//! ran on such a machine and nothing were installed there. This machine's lists and architectures stay as they are.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use bpf_build::{debian, process, workspace};

use crate::processor::Processor;

/// Whom to ask.
#[derive(Debug, Clone)]
pub enum Apt {
    Own,
    Other { processor: Processor, directory: PathBuf },
}

/// What is in the directory of another one.
const PLACES: [&str; 2] = ["lists/partial", "cache/archives/partial"];

impl Apt {
    /// The one that knows packages for it.
    pub fn of(processor: Processor) -> Result<Self> {
        if Processor::of_this_machine() == Some(processor) {
            return Ok(Self::Own);
        }
        let cache = workspace::cache().context("there is no cache: HOME is not set")?;
        let directory = cache.join("tools").join(format!("apt-{}", processor.debian()));
        for place in PLACES {
            let place = directory.join(place);
            fs::create_dir_all(&place).with_context(|| format!("cannot make {}", place.display()))?;
        }
        fs::write(directory.join("status"), "").context("cannot say that nothing is installed")?;
        Ok(Self::Other { processor, directory })
    }

    /// One of its programs, `apt-get` or `apt-cache`, which goes where apt's own user may not write.
    pub fn command(&self, program: &str) -> Command {
        let mut apt = Command::new(program);
        apt.args(["--option", "APT::Sandbox::User=root"]);
        if let Self::Other { processor, directory } = self {
            let set = |name: &str, place: &str| format!("Dir::{name}={}", directory.join(place).display());
            let architecture = processor.debian();
            let options = [
                format!("APT::Architecture={architecture}"),
                format!("APT::Architectures={architecture}"),
                set("State::Lists", "lists"),
                set("State::status", "status"),
                set("Cache", "cache"),
            ];
            options.iter().for_each(|option| {
                apt.args(["--option", option]);
            });
        }
        apt
    }

    /// Reads the lists of packages anew. A list that cannot be read is no reason to stop: an older one may do.
    pub fn refresh(&self) {
        match self {
            Self::Own => debian::refresh(),
            Self::Other { directory, .. } => {
                let _alone = super::lock(directory);
                let _ = process::run(self.command("apt-get").args(["update", "--quiet"]));
            }
        }
    }

    /// Could this package be had?
    pub fn offers(&self, package: &str) -> bool {
        let mut asked = self.command("apt-cache");
        asked.args(["show", package]).stdout(Stdio::null()).stderr(Stdio::null());
        asked.status().is_ok_and(|status| status.success())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_processors_packages_are_asked_for_apart() {
        let apt = Apt::Other { processor: Processor::Arm64, directory: "/c/apt".into() };
        let line = process::line(apt.command("apt-cache").arg("policy"));
        for word in ["APT::Architectures=arm64", "Dir::State::Lists=/c/apt/lists", "Dir::Cache=/c/apt/cache"]
        {
            assert!(line.contains(word), "{line}");
        }
        assert!(!process::line(&Apt::Own.command("apt-cache")).contains("Dir::"));
    }
}
