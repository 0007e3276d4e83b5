//! A generation in the state directory, as its manifest says.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::Home;

/// The bytes before the lines with checksums.
const HEAD: usize = "filterd generation 1\nfile 00000000\n".len();

/// A manifest, and where it lies.
pub struct SavedGeneration<'a> {
    home: &'a Home,
    name: &'static str,
    lines: Vec<Value>,
}

impl<'a> SavedGeneration<'a> {
    /// The generation of this name: `current`, `trial` or `rejected`. None if there is none that is whole.
    #[must_use]
    pub fn read(home: &'a Home, name: &'static str) -> Option<Self> {
        let text = fs::read_to_string(home.path("state").join(name)).ok()?;
        let json = |line: &str| serde_json::from_str(line.split_once(' ')?.1).ok();
        let lines: Vec<Value> = text.get(HEAD..)?.lines().map(json).collect::<Option<_>>()?;
        Some(Self { home, name, lines })
    }

    /// The records of its lists.
    pub fn lists(&self) -> impl Iterator<Item = &Value> {
        self.lines.iter().filter_map(|line| line.get("list"))
    }

    /// The names of its lists, in order.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<_> = self.lists().filter_map(|list| list["name"].as_str()).collect();
        names.sort_unstable();
        names
    }

    /// The text of its configuration.
    #[must_use]
    pub fn config(&self) -> String {
        let config = self.lines.iter().find_map(|line| line.get("config")).expect("it has a configuration");
        fs::read_to_string(self.blob(config)).expect("its text is there")
    }

    /// The file that such a record names.
    #[must_use]
    pub fn blob(&self, record: &Value) -> PathBuf {
        let digest = record["sha256"].as_str().expect("a record names a blob");
        self.home.path("state").join("blobs").join(digest)
    }

    /// The blobs of its lists, in the order of their names.
    #[must_use]
    pub fn blobs(&self) -> Vec<PathBuf> {
        let mut lists: Vec<_> = self.lists().collect();
        lists.sort_by_key(|list| list["name"].to_string());
        lists.into_iter().map(|list| self.blob(list)).collect()
    }

    /// Whether each list with a file has the bytes of that file.
    #[must_use]
    pub fn is_of_files(&self) -> bool {
        self.lists().all(|list| {
            let file = fs::read(list["path"].as_str().unwrap_or_default());
            file.is_err() || fs::read(self.blob(list)).ok() == file.ok()
        })
    }

    /// Writes it again after this change of each line.
    pub fn change(mut self, change: impl FnMut(&mut Value)) {
        self.lines.iter_mut().for_each(change);
        let path = self.home.path("state").join(self.name);
        let mut text = fs::read_to_string(&path).expect("it was read before");
        text.truncate(HEAD);
        for line in &self.lines {
            let json = line.to_string();
            text.push_str(&format!("{:08x} {json}\n", crc32fast::hash(json.as_bytes())));
        }
        fs::write(path, text).expect("it can be written");
    }
}
