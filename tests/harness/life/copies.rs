//! Copies in the state directory that are damaged or missing when filterd starts.

use std::fs::{self, OpenOptions};
use std::path::PathBuf;

use serde_json::Value;

use super::Life;
use super::heldback::Copy;
use super::prefix::Prefix;
use super::wanted::During;
use crate::SavedGeneration;

impl Life {
    /// SIGKILL; something happens to the copies, and perhaps to the files; and a start.
    pub(super) fn lose_copies(&mut self) -> Vec<Prefix> {
        // What is in force is surely on disk.
        self.reload_surely();
        self.die();
        for _ in 0..=self.random.below(2) {
            self.lose_a_copy();
        }
        self.is_written = true;
        self.start_anew()
    }

    fn lose_a_copy(&mut self) {
        let home = self.net.home();
        let rows = &self.saved.1.rows;
        let is_known = |list: &&Value| list["name"].as_str().is_some_and(|name| rows.contains_key(name));
        let saved = SavedGeneration::read(home, "current");
        let records: Vec<Value> =
            saved.iter().flat_map(SavedGeneration::lists).filter(is_known).cloned().collect();
        if records.is_empty() {
            return;
        }
        let record = &records[self.random.below(records.len())];
        let name = record["name"].as_str().expect("a list has a name").to_owned();
        let blobs = home.path("state/blobs");
        let blob = |of: &Value| Some(blobs.join(of["sha256"].as_str()?));
        let (words, choice) = match (self.random.below(4), blob(record), blob(&record["times"])) {
            (0, ..) => {
                self.lose_record(&name);
                ("record", None)
            }
            (1, _, Some(times)) => ("times", Some(times)),
            (_, copy, _) => ("copy", copy),
        };
        let mut how = "damaged";
        if let Some(path) = choice {
            let copy = self.lose_blob(&path);
            how = if copy == Copy::Gone { "removed" } else { "truncated" };
            let begun = During(self.now(), self.now());
            for other in records.iter().filter(|other| blob(&other["times"]).as_ref() == Some(&path)) {
                self.saved.1.may_begin_anew(other["name"].as_str().unwrap_or_default(), begun);
            }
            for other in records.iter().filter(|other| blob(other).as_ref() == Some(&path)) {
                let row = self.saved.1.rows.get_mut(other["name"].as_str().unwrap_or_default());
                row.expect("what is saved was read").copy = copy;
            }
        }
        self.note(format!("the {words} of list {name} is {how}"));
        if self.random.below(2) == 0 {
            let file = self.plan.lists.iter().find(|list| list.name == name).map(|list| list.file.clone());
            let words = file.map(|file| self.alterations().ruin(&file));
            self.note(words.unwrap_or_default());
        }
    }

    /// A byte of the line of this list is another one.
    fn lose_record(&mut self, name: &str) {
        let path = self.net.home().path("state/current");
        let mut bytes = fs::read(&path).expect("it was read before");
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let line = text.find(&format!("{{\"list\":{{\"name\":\"{name}\"")).expect("it has a line");
        let length = text[line..].find('\n').expect("lines end");
        bytes[line + self.random.below(length)] ^= 1;
        fs::write(path, bytes).expect("root may");
        self.saved.1.rows.remove(name);
    }

    fn lose_blob(&mut self, path: &PathBuf) -> Copy {
        let length = fs::metadata(path).map_or(0, |found| found.len());
        if length == 0 || self.random.below(2) == 0 {
            // It may be gone already.
            _ = fs::remove_file(path);
            return Copy::Gone;
        }
        let file = OpenOptions::new().write(true).open(path).expect("root may");
        file.set_len(length * self.random.below(10) as u64 / 10).expect("root may");
        Copy::Damaged
    }
}
