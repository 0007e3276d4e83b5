//! Programs that tests, benchmarks and the demo call: this machine's own where they work, else Debian's, unpacked in the
//! cache. Nothing is installed for them: a machine is not changed by being tested on.

mod apt;
mod backports;
mod package;
mod place;
pub mod python;
mod unpacked;

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use bpf_build::workspace;

pub use apt::Apt;
pub use package::lock;
pub use place::Place;

use crate::processor::Processor;

/// Where a package is unpacked without anything that it depends on, but with these others, unless it is there and
/// `has` what is needed.
pub fn alone(package: &str, others: &[&str], has: fn(&Path) -> bool) -> Result<PathBuf> {
    let root = workspace::cache().context("there is no cache: HOME is not set")?.join("tools").join(package);
    let _alone = package::lock(&root)?;
    if !has(&root) {
        package::unpack_alone(package, others, &root)?;
    }
    ensure!(has(&root), "the package {package} brings something else");
    Ok(root)
}

/// Where these packages for another processor are unpacked, with what they depend on, unless they are there already.
pub fn of_another(processor: Processor, packages: &[&str], has: fn(&Path) -> bool) -> Result<PathBuf> {
    let cache = workspace::cache().context("there is no cache: HOME is not set")?;
    let root = cache.join("tools").join(format!("guest-{}", processor.debian()));
    let _alone = package::lock(&root)?;
    if !has(&root) {
        package::unpack_of(&Apt::of(processor)?, packages, &root)?;
    }
    ensure!(has(&root), "the packages {} bring something else", packages.join(", "));
    Ok(root)
}

/// A program, the package that brings it, and words to which it answers if it works.
pub struct Tool {
    program: &'static str,
    package: &'static str,
    asked: &'static str,
    answer: Answer,
}

/// How it does.
#[derive(Clone, Copy)]
enum Answer {
    Success,
    /// By saying this: some never succeed in telling anything about themselves.
    Words(&'static str),
}

/// A tool that tells its version.
pub const fn tool(program: &'static str, package: &'static str) -> Tool {
    asked(program, package, "--version")
}

/// A tool that answers to other words.
pub const fn asked(program: &'static str, package: &'static str, asked: &'static str) -> Tool {
    Tool { program, package, asked, answer: Answer::Success }
}

/// A tool that says something when asked for help.
pub const fn helps(program: &'static str, package: &'static str, words: &'static str) -> Tool {
    Tool { program, package, asked: "help", answer: Answer::Words(words) }
}

/// A tool that cannot be had, and why.
#[derive(Debug)]
pub struct Missing(String);

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Missing {}

/// Where each of some tools lies.
#[derive(Debug)]
pub struct Tools {
    places: BTreeMap<&'static str, Place>,
    /// The wrappers of those that are not this machine's own, and nothing else.
    wrappers: PathBuf,
}

impl Tools {
    /// Finds these tools, and unpacks what is missing.
    pub fn provide(tools: &[Tool]) -> Result<Self, Missing> {
        let cache = workspace::cache().ok_or_else(|| Missing("there is no cache: HOME is not set".into()))?;
        let cache = cache.join("tools");
        let wrappers = cache.join("bin");
        let mut places = BTreeMap::new();
        for tool in tools {
            let place = tool.place(&cache);
            let kept = place.and_then(|place| place.keep(&wrappers, tool.program).map(|()| place));
            places.insert(tool.program, kept.map_err(|error| tool.missing(&error))?);
        }
        Ok(Self { places, wrappers })
    }

    /// Where one of them lies.
    pub fn place(&self, program: &str) -> Result<&Place> {
        self.places.get(program).with_context(|| format!("{program} was not provided"))
    }

    /// One of them, about to run.
    pub fn command(&self, program: &str) -> Result<Command> {
        Ok(Command::new(self.file(program)?))
    }

    /// What one starts to run one of them.
    pub fn file(&self, program: &str) -> Result<PathBuf> {
        Ok(match self.place(program)? {
            Place::Own(file) => file.clone(),
            Place::Unpacked(_) => self.wrappers.join(program),
        })
    }

    /// A file or directory, such as `usr/lib/bpf`, of the packages that a tool came with.
    pub fn beside(&self, program: &str, path: &str) -> Result<PathBuf> {
        Ok(match self.place(program)? {
            Place::Own(_) => Path::new("/").join(path),
            Place::Unpacked(unpacked) => unpacked.root.join(path),
        })
    }

    /// Lets this command, and what it starts, find them by their names.
    pub fn equip<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env("PATH", self.path())
    }

    /// A PATH on which programs find them.
    pub fn path(&self) -> OsString {
        path(&self.wrappers)
    }
}

impl Tool {
    /// This machine's own if it works, else the unpacked one.
    fn place(&self, cache: &Path) -> Result<Place> {
        // Whoever calls us may have our own wrappers on his PATH.
        let own = bpf_build::process::find(self.program).filter(|file| !file.starts_with(cache));
        let own = own.map(Place::Own).filter(|own| self.works(own));
        own.map_or_else(|| self.unpacked(cache), Ok)
    }

    /// What is in the cache may be of another machine, or of the same one before it was upgraded: then it goes.
    fn unpacked(&self, cache: &Path) -> Result<Place> {
        let root = cache.join(self.package);
        let _alone = package::lock(&root)?;
        if let Some(place) = self.working_in(&root) {
            return Ok(place);
        }
        package::unpack(self.package, &root)?;
        self.working_in(&root)
            .with_context(|| format!("what the package {} brings does not run", self.package))
    }

    /// With this machine's libraries if they do, else with those that came along.
    fn working_in(&self, root: &Path) -> Option<Place> {
        let places = unpacked::in_package(root, self.program);
        places.into_iter().map(Place::Unpacked).find(|place| self.works(place))
    }

    fn works(&self, place: &Place) -> bool {
        let output = place.command(self.program).args(self.asked.split(' ')).output();
        output.is_ok_and(|output| match self.answer {
            Answer::Success => output.status.success(),
            Answer::Words(words) => String::from_utf8_lossy(&output.stderr).contains(words),
        })
    }

    fn missing(&self, error: &anyhow::Error) -> Missing {
        Missing(format!("there is no {}: {error:#}", self.program))
    }
}

/// The wrappers before everything else: a program of this machine's that does not work is not to be found.
fn path(wrappers: &Path) -> OsString {
    let path = env::var_os("PATH").unwrap_or_default();
    let root = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    let directories = [wrappers.to_owned()].into_iter().chain(env::split_paths(&path)).chain(root);
    env::join_paths(directories).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn working_local_tool_is_used() {
        let nowhere = Path::new("/nonexistent");
        let place = asked("sh", "no-such-package", "-c true").place(nowhere).unwrap();
        assert!(matches!(place, Place::Own(_)), "{place:?}");
    }

    #[test]
    fn broken_local_program_is_not_used() {
        assert!(!tool("false", "none").works(&Place::Own("/bin/false".into())));
        assert!(!helps("false", "none", "Usage").works(&Place::Own("/bin/false".into())));
        assert!(!tool("none", "none").works(&Place::Own("/nonexistent/none".into())));
    }

    #[test]
    fn wrappers_come_first() {
        assert!(path(Path::new("/w")).to_string_lossy().starts_with("/w:"));
    }
}
