//! Everything that a run reads: words and files, each under a name. Their hash is the key of its result.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use bpf_build::workspace;

/// What a run reads, in the order in which it is named.
#[derive(Debug, Clone)]
pub struct Inputs {
    root: PathBuf,
    text: Vec<u8>,
}

impl Inputs {
    /// None yet. Paths of files begin at the top of the work tree, so the key is the same in every clone.
    pub fn of_tree() -> Self {
        Self::below(workspace::root())
    }

    fn below(root: PathBuf) -> Self {
        Self { root, text: Vec::new() }
    }

    /// A word that decides something: a flag, a version.
    #[must_use]
    pub fn word(self, name: &str, value: &str) -> Self {
        self.bytes(name, value.as_bytes())
    }

    /// Both lengths come first, so two different lists of inputs never become the same text.
    #[must_use]
    pub fn bytes(mut self, name: &str, value: &[u8]) -> Self {
        self.text.extend(format!("{} {}\n", name.len(), value.len()).bytes());
        self.text.extend(name.bytes());
        self.text.extend(value);
        self
    }

    /// A file of the work tree.
    pub fn file(self, path: &str) -> Result<Self> {
        let file = self.root.join(path);
        let bytes = fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
        Ok(self.bytes(path, &bytes))
    }

    /// Every file below a directory of the work tree whose name ends in one of these words; all files if there are none.
    pub fn files_below(self, directory: &str, endings: &[&str]) -> Result<Self> {
        let mut paths = Vec::new();
        list(&self.root.join(directory), &mut paths)?;
        paths.sort_unstable();
        let is_wanted = |path: &&PathBuf| {
            let name = path.to_string_lossy();
            endings.is_empty() || endings.iter().any(|ending| name.ends_with(ending))
        };
        let chosen: Vec<String> = paths
            .iter()
            .filter(is_wanted)
            .map(|path| path.strip_prefix(&self.root).unwrap_or(path).to_string_lossy().into_owned())
            .collect();
        ensure!(!chosen.is_empty(), "{directory} has no such files");
        chosen.iter().try_fold(self, |inputs, path| inputs.file(path))
    }

    /// A file of this machine's, such as one of /proc. A missing file is an input, too.
    #[must_use]
    pub fn fact(self, path: &str) -> Self {
        match fs::read(path) {
            Ok(bytes) => self.bytes(path, &bytes),
            Err(_) => self.word("missing", path),
        }
    }

    /// The SHA-256 of all of it. Every machine has a program for this; a crate would be one more to build.
    pub fn key(&self) -> Result<String> {
        let mut sum = Command::new("sha256sum");
        let mut sum =
            sum.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("cannot start sha256sum")?;
        let mut input = sum.stdin.take().context("sha256sum has no input")?;
        input.write_all(&self.text).context("sha256sum does not read")?;
        drop(input);
        let output = sum.wait_with_output().context("cannot wait for sha256sum")?;
        ensure!(output.status.success(), "sha256sum failed ({})", output.status);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        said.split_once(' ').map(|(key, _)| key.to_owned()).context("sha256sum prints no sum")
    }
}

fn list(directory: &Path, paths: &mut Vec<PathBuf>) -> Result<()> {
    let entries = fs::read_dir(directory).with_context(|| format!("cannot list {}", directory.display()))?;
    for entry in entries {
        let path = entry.with_context(|| format!("cannot list {}", directory.display()))?.path();
        if path.is_dir() { list(&path, paths)? } else { paths.push(path) }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn none() -> Inputs {
        Inputs::below("/nonexistent".into())
    }

    #[test]
    fn every_change_of_an_input_changes_the_key() {
        let lists = [
            none(),
            none().word("a", "b"),
            none().word("a", "c"),
            none().word("c", "b"),
            none().word("ab", ""),
            none().word("", "ab"),
            none().word("a", "b").word("", ""),
            none().word("a", "b").word("c", "d"),
            none().word("c", "d").word("a", "b"),
            none().word("a", "b1 1\ncd"),
            none().fact("/nonexistent/a"),
            none().fact("/nonexistent/b"),
        ];
        let keys: BTreeSet<_> = lists.iter().map(|inputs| inputs.key().unwrap()).collect();
        assert_eq!(keys.len(), lists.len());
        assert_eq!(none().word("a", "b").key().unwrap(), none().word("a", "b").key().unwrap());
    }

    #[test]
    fn every_change_of_a_file_changes_the_key() {
        let root = std::env::temp_dir().join(format!("xtask-inputs-{}", std::process::id()));
        let key = |files: &[(&str, &str)]| {
            let _ = fs::remove_dir_all(&root);
            for (path, text) in files {
                let file = root.join("tree").join(path);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, text).unwrap();
            }
            Inputs::below(root.clone()).files_below("tree", &[".pml"]).unwrap().key().unwrap()
        };
        let first = key(&[("a.pml", "x"), ("b/c.pml", "y")]);
        assert_eq!(first, key(&[("b/c.pml", "y"), ("a.pml", "x")]), "order of creation");
        assert_eq!(first, key(&[("a.pml", "x"), ("b/c.pml", "y"), ("d.txt", "z")]), "another ending");
        for (change, files) in [
            ("a byte", &[("a.pml", "X"), ("b/c.pml", "y")][..]),
            ("a byte more", &[("a.pml", "x\n"), ("b/c.pml", "y")]),
            ("a name", &[("e.pml", "x"), ("b/c.pml", "y")]),
            ("a directory", &[("a.pml", "x"), ("f/c.pml", "y")]),
            ("one file less", &[("a.pml", "x")]),
            ("one file more", &[("a.pml", "x"), ("b/c.pml", "y"), ("g.pml", "")]),
        ] {
            assert_ne!(first, key(files), "{change}");
        }
        assert!(Inputs::below(root.clone()).files_below("tree", &[".rs"]).is_err());
        fs::remove_dir_all(root).unwrap();
    }
}
