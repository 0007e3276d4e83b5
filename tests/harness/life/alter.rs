//! What operators do to a configuration and its files between two reloads.

use std::fs;
use std::time::Duration;

use super::batch::Batch;
use super::heldback::{Content, LIMITS};
use super::left_out::LeftOut;
use super::plan::{FED, Listed, Plan};
use super::ports::Ports;
use super::prefix::Prefix;
use super::wanted::AS_GIVEN;
use super::world::World;
use crate::{Home, Random};

const NAMES: [&str; 6] = ["drop", "spam", "tor", "geo", "ban", "scan"];
const FILES: [&str; 6] = ["a.txt", "b.txt", "c.txt", "d.txt", "e.txt", "f.txt"];

/// What IPv6 targets are widened to.
const REACHES: [u8; 4] = [AS_GIVEN, 64, 56, 80];

/// How long what a file names stays on its list, in seconds.
const TTLS: [Option<u64>; 4] = [None, Some(4), Some(15), Some(3600)];

/// How a plan changes.
#[derive(Debug)]
pub struct Alter<'a> {
    pub plan: &'a mut Plan,
    /// The one in force.
    pub applied: &'a Plan,
    pub world: &'a mut World,
    pub random: &'a mut Random,
    pub home: &'a Home,
    /// Kinds of changes that are left out.
    pub left_out: &'a LeftOut,
}

impl Alter<'_> {
    /// A few changes of the configuration and its files; tells which.
    pub fn several(&mut self, size: usize) -> String {
        let mut done = Vec::new();
        // While nothing is dropped, the wire tells little.
        if !self.plan.enforce && self.random.below(2) == 0 {
            self.plan.enforce = true;
            done.push("enforce: true".to_owned());
        }
        for _ in 0..=self.random.below(3) {
            done.push(self.once(size));
            // Whatever came on top of swapped names could be meant in two ways.
            if done.last().is_some_and(|words| words.contains("swap") || words.contains("kind")) {
                break;
            }
        }
        done.join("; ")
    }

    /// One change of the configuration or of a file; tells which.
    fn once(&mut self, size: usize) -> String {
        let choice = self.random.below(38);
        match choice {
            0..3 => self.make_list(size),
            3..7 => self.edit(size),
            7 => self.empty(),
            8 if !self.left_out.has("missing") => self.delete_file(),
            9 | 10 if !self.left_out.has("rename") => self.rename(),
            11 if !self.left_out.has("rename") => self.swap(),
            12 | 13 => self.move_path(),
            14 => self.drop_list(),
            15 | 16 if !self.left_out.has("enforce") => {
                self.plan.enforce = !self.plan.enforce;
                format!("enforce: {}", self.plan.enforce)
            }
            17 => {
                self.plan.keep = !self.plan.keep;
                format!("on_exit is switched, keep: {}", self.plan.keep)
            }
            18 if !self.left_out.has("allow") => {
                self.plan.allow = self.world.relatives(self.random, size.min(20));
                format!("allow: {} targets", self.plan.allow.len())
            }
            20 if !self.left_out.has("allow") => self.change_kind(size),
            21 if !self.left_out.has("reach") => self.reach_farther(),
            22 if !self.left_out.has("reach") => self.live_reaches_farther(),
            23 | 24 if !self.left_out.has("order") => self.change_places(),
            25 if !self.left_out.has("new") => {
                self.plan.only_new = !self.plan.only_new;
                format!("match: new is switched, {}", self.plan.only_new)
            }
            26 if !self.left_out.has("total") => {
                self.plan.counts_lists = !self.plan.counts_lists;
                format!("packets are counted for each list: {}", self.plan.counts_lists)
            }
            27..31 if !self.left_out.has("ports") => self.other_ports(),
            31 | 32 if !self.left_out.has("ttl") => self.other_ttl(),
            33 if !self.left_out.has("heldback") => self.other_limits(),
            34..38 if !self.left_out.has("heldback") => self.spoil(),
            _ => {
                self.plan.block = self.world.batch(self.random, size.min(20)).targets;
                format!("block: {} targets", self.plan.block.len())
            }
        }
    }

    fn make_list(&mut self, size: usize) -> String {
        let name = NAMES[self.random.below(NAMES.len())];
        let file = FILES[self.random.below(FILES.len())].to_owned();
        if self.plan.has(name) || self.is_spoken_for(&file) {
            return self.edit(size);
        }
        let said = if matches!(self.plan.files.get(&file), Some(Some(_))) {
            String::new()
        } else {
            self.write(&file, size)
        };
        let limits = self.limits();
        self.plan.lists.push(Listed { limits, ..Listed::new(name, &file) });
        format!("list {name} of {file} is new; {said}")
    }

    fn write(&mut self, file: &str, size: usize) -> String {
        let mut batch = self.world.batch(self.random, size);
        // Part of what was there stays.
        if let Some(Some(before)) = self.plan.files.get(file) {
            let stays = self.random.below(3);
            let stay = before
                .targets
                .iter()
                .enumerate()
                .filter(|(place, _)| place % 3 < stays)
                .map(|(_, target)| *target);
            let stay: Vec<_> = stay.collect();
            batch.lines.extend(stay.iter().map(Prefix::to_string));
            batch.targets.extend(stay);
        }
        let said =
            format!("{file} is written: {} and what stays, {} in all", batch.words, batch.targets.len());
        let (text, content) = messy(batch, self.random);
        self.home.write(file, &text);
        self.plan.files.insert(file.to_owned(), Some(content));
        said
    }

    fn edit(&mut self, size: usize) -> String {
        match self.any() {
            Some(place) => {
                let file = self.plan.lists[place].file.clone();
                self.write(&file, size)
            }
            None => self.make_list(size),
        }
    }

    fn empty(&mut self) -> String {
        let Some(place) = self.any() else { return "nothing".to_owned() };
        let file = self.plan.lists[place].file.clone();
        let text = format!("# nobody {}\n", self.random.number());
        self.home.write(&file, &text);
        self.plan.files.insert(file.clone(), Some(Content::of(&text, Vec::new(), 0, 0)));
        format!("{file} is emptied")
    }

    /// Its second half is missing, or it is full of rubbish.
    fn spoil(&mut self) -> String {
        let Some(place) = self.any() else { return "nothing".to_owned() };
        let file = self.plan.lists[place].file.clone();
        self.spoil_file(&file)
    }

    /// Nothing, or little, can be read of this file.
    pub fn ruin(&mut self, file: &str) -> String {
        match self.random.below(3) {
            0 if !self.left_out.has("missing") => self.delete(file),
            1 if !self.left_out.has("heldback") => self.spoil_file(file),
            _ => "nothing happens to its file".to_owned(),
        }
    }

    fn spoil_file(&mut self, file: &str) -> String {
        let Some(before) = self.plan.content(file) else { return self.delete(file) };
        let (targets, is_cut) = (before.targets.clone(), self.random.below(2) == 0);
        let stay = if is_cut { targets.len() * self.random.below(10) / 10 } else { targets.len() };
        let rubbish = if is_cut { 1 } else { targets.len() * self.random.below(20) / 10 };
        let mut text: String = targets[..stay].iter().map(|target| format!("{target}\n")).collect();
        text += &"no target\n".repeat(rubbish - usize::from(is_cut));
        text += if is_cut { "203." } else { "" };
        self.home.write(file, &text);
        let content = Content::of(&text, targets[..stay].to_vec(), stay, rubbish);
        self.plan.files.insert(file.to_owned(), Some(content));
        format!(
            "{file} is spoilt: {stay} of {} targets, {rubbish} lines of rubbish, cut: {is_cut}",
            targets.len()
        )
    }

    fn other_limits(&mut self) -> String {
        let limits = self.limits();
        let Some(place) = self.any() else { return "nothing".to_owned() };
        self.plan.lists[place].limits = limits;
        format!("list {} may shrink and be rubbish by {limits:?} %", self.plan.lists[place].name)
    }

    fn limits(&mut self) -> (u8, u8) {
        if self.left_out.has("heldback") { LIMITS[0] } else { LIMITS[self.random.below(LIMITS.len())] }
    }

    fn delete_file(&mut self) -> String {
        let Some(place) = self.any() else { return "nothing".to_owned() };
        let file = self.plan.lists[place].file.clone();
        self.delete(&file)
    }

    fn delete(&mut self, file: &str) -> String {
        // It may be gone already.
        let _ = fs::remove_file(self.home.path(file));
        self.plan.files.insert(file.to_owned(), None);
        format!("{file} is deleted")
    }

    fn rename(&mut self) -> String {
        let name = NAMES[self.random.below(NAMES.len())];
        let Some(place) = self.any().filter(|_| !self.plan.has(name)) else { return "nothing".to_owned() };
        let before = std::mem::replace(&mut self.plan.lists[place].name, name.to_owned());
        format!("list {before} is called {name} now")
    }

    /// Only where both can be read: else it is anybody's guess what is meant.
    fn swap(&mut self) -> String {
        let (Some(one), Some(other)) = (self.any(), self.any()) else { return "nothing".to_owned() };
        if one == other || self.plan.is_incomplete() {
            return "nothing".to_owned();
        }
        let [first, second] = [one, other].map(|place| self.plan.lists[place].name.clone());
        self.plan.lists[one].name.clone_from(&second);
        self.plan.lists[other].name.clone_from(&first);
        format!("lists {first} and {second} swap their names")
    }

    fn move_path(&mut self) -> String {
        let file = FILES[self.random.below(FILES.len())];
        let free = !self.is_spoken_for(file);
        let Some(place) = self.any().filter(|_| free) else { return "nothing".to_owned() };
        file.clone_into(&mut self.plan.lists[place].file);
        format!("list {} is {file} now", self.plan.lists[place].name)
    }

    fn drop_list(&mut self) -> String {
        let Some(place) = self.any() else { return "nothing".to_owned() };
        let list = self.plan.lists.remove(place);
        format!("list {} is gone from the configuration", list.name)
    }

    /// One that blocked allows, or the other way round: what its file says anew, or with a file that is not there.
    fn change_kind(&mut self, size: usize) -> String {
        let Some(place) = self.any() else { return "nothing".to_owned() };
        let list = &mut self.plan.lists[place];
        (list.allows, list.reach, list.ports, list.ttl) = (!list.allows, AS_GIVEN, Ports::All, None);
        let Listed { name, file, allows, .. } = list.clone();
        let said =
            if self.random.below(2) == 0 { self.delete(&file) } else { self.write(&file, size.min(300)) };
        format!("list {name} changes its kind, allows: {allows}; {said}")
    }

    fn reach_farther(&mut self) -> String {
        let reach = REACHES[self.random.below(REACHES.len())];
        let Some(place) = self.any().filter(|place| !self.plan.lists[*place].allows) else {
            return "nothing".to_owned();
        };
        self.plan.lists[place].reach = reach;
        format!("list {} reaches to /{reach}", self.plan.lists[place].name)
    }

    /// Of any list that is read, one that allows and the one that is fetched among them.
    fn other_ttl(&mut self) -> String {
        let ttl = TTLS[self.random.below(TTLS.len())].map(Duration::from_secs);
        if self.plan.fed.is_some() && self.random.below(2) == 0 {
            self.plan.fed_ttl = ttl;
            return format!("what is on list {FED} stays for {ttl:?}");
        }
        let Some(place) = self.any() else { return "nothing".to_owned() };
        self.plan.lists[place].ttl = ttl;
        format!("what is on list {} stays for {ttl:?}", self.plan.lists[place].name)
    }

    fn other_ports(&mut self) -> String {
        let ports = Ports::ANY[self.random.below(Ports::ANY.len())];
        let Some(place) = self.any().filter(|place| !self.plan.lists[*place].allows) else {
            return "nothing".to_owned();
        };
        self.plan.lists[place].ports = ports;
        format!("list {} blocks on other ports: {ports:?}", self.plan.lists[place].name)
    }

    /// Those that commands fill.
    fn live_reaches_farther(&mut self) -> String {
        let name = ["ssh", "web"][self.random.below(2)];
        let reach = REACHES[self.random.below(REACHES.len())];
        match reach {
            AS_GIVEN => self.plan.reach.remove(name),
            _ => self.plan.reach.insert(name.to_owned(), reach),
        };
        format!("list {name}, which commands fill, reaches to /{reach}")
    }

    /// Another order: the same entries are counted for other lists.
    fn change_places(&mut self) -> String {
        let (Some(one), Some(other)) = (self.any(), self.any()) else { return "nothing".to_owned() };
        self.plan.lists.swap(one, other);
        let names: Vec<_> = self.plan.lists.iter().map(|list| &list.name).collect();
        format!("lists stand in the order {names:?}")
    }

    /// May no other list have this file?
    fn is_spoken_for(&self, file: &str) -> bool {
        let mut lists = self.plan.lists.iter().chain(&self.applied.lists);
        self.left_out.has("share") && lists.any(|list| list.file == file)
    }

    fn any(&mut self) -> Option<usize> {
        let lists = self.plan.lists.len();
        (lists > 0).then(|| self.random.below(lists))
    }
}

/// As people write it: comments, blank lines, lines that mean nothing, things said twice.
fn messy(batch: Batch, random: &mut Random) -> (String, Content) {
    let mut text = String::from("# a list\n\n");
    let mut rejected = 0;
    for line in &batch.lines {
        text += line;
        let kind = random.below(40);
        rejected += usize::from(kind == 1);
        text += match kind {
            0 => " ; as seen yesterday\n",
            1 => "\nthis is no target\n",
            2 => "\r\n\n",
            _ => "\n",
        };
    }
    let last = batch.lines.first().filter(|_| random.below(2) == 0);
    text += last.map_or("", |line| line);
    let lines = batch.lines.len() + usize::from(last.is_some());
    let content = Content::of(&text, batch.targets, lines, rejected);
    (text, content)
}
