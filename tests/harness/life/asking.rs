//! What is asked of filterd, from any thread, and what can be known of its answer.

use std::time::Duration;

use super::batch::Batch;
use super::prefix::Prefix;
use crate::{Home, Reply};

/// More targets than this are given on standard input.
pub const MOST_WORDS: usize = 20;

/// A number of which not more may be known than between what and what it lies.
#[derive(Clone, Copy, Debug, Default)]
pub struct Between(pub usize, pub usize);

impl Between {
    /// One more, if that is so; perhaps one more, if nobody knows.
    pub fn count(&mut self, is_so: Option<bool>) {
        self.0 += usize::from(is_so == Some(true));
        self.1 += usize::from(is_so != Some(false));
    }
}

/// For how long something is added.
#[derive(Clone, Copy, Debug, Default)]
pub struct Term {
    /// For good, if nothing is said.
    pub ttl: Option<Duration>,
    /// It ends then, whatever was said before.
    pub shortens: bool,
}

impl Term {
    /// Until somebody says otherwise.
    pub const PERMANENT: Self = Self { ttl: None, shortens: false };

    /// In words.
    pub fn words(self) -> String {
        let shortens = if self.shortens { ", no longer" } else { "" };
        ttl_words(self.ttl) + shortens
    }
}

/// `filterd add`, from any thread.
pub fn ask_add(home: &Home, list: &str, batch: &Batch, term: Term) -> Reply {
    let Term { ttl, shortens } = term;
    let mut words = vec!["add".to_owned(), "--json".to_owned(), "--wide".to_owned()];
    words.extend(["--list".to_owned(), list.to_owned()]);
    words.extend(shortens.then(|| "--shorten".to_owned()));
    ttl.iter().for_each(|ttl| words.extend(["--ttl".to_owned(), format!("{}s", ttl.as_secs())]));
    ask(home, words, &batch.lines)
}

/// `filterd allow add`.
pub fn ask_allow(home: &Home, list: &str, batch: &Batch, ttl: Option<Duration>) -> Reply {
    let mut words = ["allow", "add", "--json", "--wide", "--list", list].map(str::to_owned).to_vec();
    ttl.iter().for_each(|ttl| words.extend(["--ttl".to_owned(), format!("{}s", ttl.as_secs())]));
    ask(home, words, &batch.lines)
}

/// `filterd allow remove`.
pub fn ask_disallow(home: &Home, targets: &[Prefix], list: Option<&str>) -> Reply {
    let mut words = ["allow", "remove", "--json"].map(str::to_owned).to_vec();
    list.iter().for_each(|list| words.extend(["--list".to_owned(), (*list).to_owned()]));
    let lines: Vec<_> = targets.iter().map(Prefix::to_string).collect();
    ask(home, words, &lines)
}

/// `filterd remove`, from any thread.
pub fn ask_remove(home: &Home, targets: &[Prefix], list: Option<&str>) -> Reply {
    let mut words = vec!["remove".to_owned(), "--json".to_owned()];
    list.iter().for_each(|list| words.extend(["--list".to_owned(), (*list).to_owned()]));
    let lines: Vec<_> = targets.iter().map(Prefix::to_string).collect();
    ask(home, words, &lines)
}

fn ask(home: &Home, mut words: Vec<String>, lines: &[String]) -> Reply {
    if lines.len() <= MOST_WORDS {
        words.extend_from_slice(lines);
        return home.filterd(words);
    }
    words.push("-".to_owned());
    home.filterd_reading(words, &(lines.join("\n") + "\n"))
}

/// How long, in words.
pub fn ttl_words(ttl: Option<Duration>) -> String {
    ttl.map_or(String::new(), |ttl| format!(" for {} s", ttl.as_secs()))
}

/// Of which list, in words.
pub fn of(list: Option<&str>) -> String {
    list.map_or(String::new(), |list| format!(" of {list}"))
}
