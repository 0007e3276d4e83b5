//! Results that are kept: a run that takes long is not repeated while everything that it reads stays the same. Results lie in
//! the cache, so all work trees of a user share them. Only successes are kept, and every output says what was not run.

mod inputs;
pub mod verifier;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self as this, Command};
use std::time::SystemTime;

use anyhow::{Context, Result};
use bpf_build::{process, workspace};

pub use inputs::Inputs;

/// Set to 1, it makes everything run, whatever is kept.
pub const ANEW: &str = "FILTERD_ANEW";

/// Results of one kind that stay: enough for some branches. Older ones are removed.
const MOST: usize = 20;

/// How a file begins that holds a result. Anything else in its place is ignored.
const PASSED: &str = "passed ";

/// May a kept result stand for a run?
pub fn is_allowed() -> bool {
    env::var_os(ANEW).is_none_or(|value| value != "1")
}

/// Where the result of a run is kept, if it passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    place: PathBuf,
}

/// A run that passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Success {
    /// As in `2026-11-28 14:02`.
    pub when: String,
    /// What the run printed and is worth keeping.
    pub lines: Vec<String>,
}

impl Kept {
    /// The place for a run of this kind with these inputs. A kind is a path such as `model/forward`.
    pub fn of(kind: &str, inputs: &Inputs) -> Result<Self> {
        let cache = workspace::cache().context("there is no cache: HOME is not set")?;
        Ok(Self::in_directory(&cache.join("kept").join(kind), &inputs.key()?))
    }

    fn in_directory(directory: &Path, key: &str) -> Self {
        Self { place: directory.join(key) }
    }

    /// The result, if this run passed before and kept results are allowed.
    pub fn find(&self) -> Option<Success> {
        is_allowed().then(|| self.read())?
    }

    /// A damaged file counts as none: the run is repeated, and its result replaces the file.
    fn read(&self) -> Option<Success> {
        let text = fs::read_to_string(&self.place).ok()?;
        let (when, lines) = text.strip_prefix(PASSED)?.split_once('\n')?;
        Some(Success { when: when.to_owned(), lines: lines.lines().map(ToOwned::to_owned).collect() })
    }

    /// Keeps a success. A cache that cannot be written costs time later, and fails nothing now.
    pub fn remember(&self, lines: &[String]) {
        if let Err(error) = self.write(lines) {
            eprintln!("xtask: this result is not kept: {error:#}");
        }
    }

    /// Others see the old file or the whole new one.
    fn write(&self, lines: &[String]) -> Result<()> {
        let directory = self.directory();
        fs::create_dir_all(directory).with_context(|| format!("cannot make {}", directory.display()))?;
        let part = self.place.with_extension(format!("{}.part", this::id()));
        let text = format!("{PASSED}{}\n{}\n", now()?, lines.join("\n"));
        fs::write(&part, text).with_context(|| format!("cannot write {}", part.display()))?;
        fs::rename(&part, &self.place).with_context(|| format!("cannot write {}", self.place.display()))?;
        prune(directory)
    }

    /// A directory for a program that keeps the parts of its result itself.
    pub fn make_directory(&self) -> Result<&Path> {
        let made = fs::create_dir_all(&self.place);
        made.with_context(|| format!("cannot make {}", self.place.display()))?;
        prune(self.directory())?;
        Ok(&self.place)
    }

    fn directory(&self) -> &Path {
        self.place.parent().expect("a key lies in a directory")
    }
}

/// Removes all but the newest results of a kind.
fn prune(directory: &Path) -> Result<()> {
    let entries = fs::read_dir(directory).with_context(|| format!("cannot list {}", directory.display()))?;
    let changed = |path: &Path| path.metadata().and_then(|about| about.modified());
    let mut results: Vec<_> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.file_name().is_some_and(|name| is_key(&name.to_string_lossy())))
        .map(|path| (changed(&path).unwrap_or(SystemTime::UNIX_EPOCH), path))
        .collect();
    results.sort_unstable();
    results.iter().rev().skip(MOST).for_each(|(_, path)| {
        // Another process may prune at the same time.
        let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    });
    Ok(())
}

fn is_key(name: &str) -> bool {
    name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn now() -> Result<String> {
    Ok(process::output(Command::new("date").arg("+%F %H:%M"))?.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn scratch(name: &str) -> PathBuf {
        let directory = env::temp_dir().join(format!("xtask-kept-{name}-{}", this::id()));
        let _ = fs::remove_dir_all(&directory);
        directory
    }

    fn numbered(directory: &Path, number: usize) -> Kept {
        Kept::in_directory(directory, &format!("{number:064x}"))
    }

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(ToOwned::to_owned).collect()
    }

    #[test]
    fn success_is_found_again() {
        let directory = scratch("success");
        let kept = numbered(&directory, 1);
        assert_eq!(kept.read(), None);
        kept.write(&lines("a\nb")).unwrap();
        let success = kept.read().unwrap();
        assert_eq!(success.lines, ["a", "b"]);
        assert_eq!(success.when.len(), "2026-11-28 14:02".len());
        assert_eq!(numbered(&directory, 2).read(), None);
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn damaged_file_is_ignored() {
        let directory = scratch("damaged");
        let kept = numbered(&directory, 1);
        kept.write(&lines("a")).unwrap();
        for damaged in ["", "passed", "failed 2026-11-28 14:02\na\n"] {
            fs::write(&kept.place, damaged).unwrap();
            assert_eq!(kept.read(), None, "{damaged}");
        }
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn oldest_results_are_pruned() {
        let directory = scratch("pruned");
        for number in 0..MOST + 3 {
            let kept = numbered(&directory, number);
            kept.write(&[]).unwrap();
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(number as u64);
            fs::File::options().write(true).open(&kept.place).unwrap().set_modified(time).unwrap();
        }
        fs::write(directory.join("other"), "").unwrap();
        prune(&directory).unwrap();
        let is_there: Vec<_> =
            (0..MOST + 3).map(|number| numbered(&directory, number).read().is_some()).collect();
        assert_eq!(is_there, [vec![false; 3], vec![true; MOST]].concat());
        assert!(directory.join("other").exists());
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn directory_of_parts_is_pruned_like_a_file() {
        let directory = scratch("parts");
        for number in 0..=MOST {
            fs::write(numbered(&directory, number).make_directory().unwrap().join("part"), "").unwrap();
        }
        assert_eq!(fs::read_dir(&directory).unwrap().count(), MOST);
        fs::remove_dir_all(directory).unwrap();
    }
}
