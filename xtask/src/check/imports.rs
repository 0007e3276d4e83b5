//! Who imports whom, held against the table in ARCHITECTURE.md: nothing that it does not list, and nothing listed in vain.
//!
//! Tests may name whom they like.

use std::collections::BTreeSet;

use anyhow::Result;

use super::dependencies;
use super::house::{House, May, Room, begins_with};
use super::source::{File, Name};

/// Every file of these lies in a room of the table.
const GUARDED: [&str; 4] = ["filter-common/src/", "filter-ebpf/src/", "filter-daemon/src/", "xtask/bpf/src/"];

const LIBRARY: &str = "filterd::";

/// One line for each import that the table does not list, and for each listed one that is not there.
pub fn complaints(files: &[File], house: &House) -> Result<Vec<String>> {
    let imports = imports(files)?;
    let homeless = files.iter().filter(|file| is_guarded(&file.path) && house.room_of(&file.path).is_none());
    let homeless = homeless.map(|file| format!("{}: lies in no room of the table", file.path));
    let against = imports.iter().filter_map(|import| import.complaint(house));
    let idle = house.rooms.iter().flat_map(|room| idle(room, house, &imports));
    let empty = house.rooms.iter().filter(|room| !room.is_inhabited(files));
    let empty = empty.map(|room| format!("ARCHITECTURE.md: no file lies in `{}`", room.path));
    Ok(homeless.chain(against).chain(idle).chain(empty).collect())
}

/// The table as it would have to be for the code as it is.
pub fn table(files: &[File], house: &House) -> Result<String> {
    let imports = imports(files)?;
    let rooms = with_new_rooms(files, house);
    let inhabited = rooms.rooms.iter().filter(|room| room.is_inhabited(files));
    let rows = inhabited.map(|room| row(room, &rooms, &imports));
    Ok(["| room | may import |\n|---|---|\n".to_owned()].into_iter().chain(rows).collect())
}

/// The rooms that the table has, and those that it lacks.
fn with_new_rooms(files: &[File], house: &House) -> House {
    let homeless = files.iter().filter(|file| is_guarded(&file.path) && house.room_of(&file.path).is_none());
    let new: BTreeSet<_> = homeless.map(|file| outermost(&file.path)).collect();
    let new = new.into_iter().map(|path| Room { path, may: May::Only(Vec::new()) });
    let mut rooms: Vec<_> = house.rooms.iter().cloned().chain(new).collect();
    rooms.sort_by(|one, other| one.path.cmp(&other.path));
    House { rooms, circles: Vec::new() }
}

/// The file or directory beside the root of the crate.
fn outermost(file: &str) -> String {
    let inside = file.split_once("/src/").map_or(file.len(), |(package, _)| package.len() + "/src/".len());
    let end = file[inside..].find('/').map_or(file.len(), |end| inside + end);
    file[..end].trim_end_matches(".rs").to_owned()
}

/// A path that leads out of the crate, or through it from its root.
struct Import<'a> {
    file: &'a str,
    line: usize,
    path: String,
}

fn imports(files: &[File]) -> Result<Vec<Import<'_>>> {
    let mut imports = Vec::new();
    for package in GUARDED {
        let crates = dependencies::names(package.trim_end_matches("src/"))?;
        let inside = files.iter().filter(|file| file.path.starts_with(package));
        inside.for_each(|file| imports.extend(imports_of(file, &crates)));
    }
    Ok(imports)
}

fn imports_of<'a>(file: &'a File, crates: &[String]) -> impl Iterator<Item = Import<'a>> {
    let foreign = file.names.iter().filter(|name| !name.is_test && leads_out(name, crates));
    foreign.map(|name| Import { file: &file.path, line: name.line, path: from_the_root(name) })
}

/// The program calls its library by name.
fn from_the_root(name: &Name) -> String {
    let path = name.path.join("::");
    path.strip_prefix(LIBRARY).map_or(path.clone(), |inside| format!("crate::{inside}"))
}

/// What begins with a local name, or with the standard library, does not.
fn leads_out(name: &Name, crates: &[String]) -> bool {
    let first = &name.path[0];
    ["crate", "filterd"].contains(&first.as_str()) && name.path.len() > 1 || crates.contains(first)
}

fn is_guarded(file: &str) -> bool {
    GUARDED.iter().any(|package| file.starts_with(package))
}

impl Import<'_> {
    fn complaint(&self, house: &House) -> Option<String> {
        let room = house.room_of(self.file)?;
        let is_allowed = room.is_own(&self.path) || room.entry_for(&self.path).is_some();
        (!is_allowed && room.may != May::Everything)
            .then(|| format!("{}:{}: `{}` may not import {}", self.file, self.line, room.path, self.path))
    }

    /// As short as the table says it: an entry that it has, else a room or a crate.
    fn entry(&self, room: &Room) -> String {
        let words: Vec<_> = self.path.split("::").collect();
        let kept = if words[0] == "crate" { 2 } else { 1 };
        room.entry_for(&self.path).map_or_else(|| words[..kept].join("::"), ToOwned::to_owned)
    }
}

impl Room {
    fn is_inhabited(&self, files: &[File]) -> bool {
        files.iter().any(|file| self.holds(&file.path))
    }

    fn is_own(&self, path: &str) -> bool {
        begins_with(path, &self.module())
    }

    fn entry_for(&self, path: &str) -> Option<&str> {
        let May::Only(entries) = &self.may else { return None };
        entries.iter().find(|entry| begins_with(path, entry)).map(String::as_str)
    }
}

/// What leads out of a room.
fn out_of<'a>(
    room: &'a Room,
    house: &'a House,
    imports: &'a [Import<'a>],
) -> impl Iterator<Item = &'a Import<'a>> {
    let inside = move |import: &&Import<'_>| house.room_of(import.file) == Some(room);
    imports.iter().filter(inside).filter(|import| !room.is_own(&import.path))
}

fn idle(room: &Room, house: &House, imports: &[Import<'_>]) -> Vec<String> {
    let May::Only(entries) = &room.may else { return Vec::new() };
    let used: BTreeSet<_> = out_of(room, house, imports).map(|import| import.entry(room)).collect();
    let idle = entries.iter().filter(|entry| !used.contains(*entry));
    idle.map(|entry| format!("ARCHITECTURE.md: `{}` may import {entry}, and does not", room.path)).collect()
}

fn row(room: &Room, house: &House, imports: &[Import<'_>]) -> String {
    let entries: BTreeSet<_> = out_of(room, house, imports).map(|import| import.entry(room)).collect();
    let entries: Vec<_> = entries.iter().map(|entry| format!("`{entry}`")).collect();
    let entries = match &room.may {
        May::Everything => "everything".to_owned(),
        May::Only(_) if entries.is_empty() => "nothing".to_owned(),
        May::Only(_) => entries.join(", "),
    };
    format!("| `{}` | {entries} |\n", room.path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::source;

    const DOCUMENT: &str = "### Who may import whom\n\
        | `filter-common/src` | nothing |\n\
        | `filter-daemon/src/blocklist` | `filter_common` |\n\
        | `filter-daemon/src/kernel` | `aya`, `crate::blocklist::Effects` |\n\
        | `filter-daemon/src/daemon` | everything |\n";

    fn against(path: &str, text: &str) -> Vec<String> {
        let crates = ["aya", "filter_common", "serde"].map(str::to_owned);
        let file = source::parse(path.to_owned(), text).unwrap();
        let house = House::read(DOCUMENT);
        imports_of(&file, &crates).filter_map(|import| import.complaint(&house)).collect()
    }

    #[test]
    fn rooms_keep_to_their_rows() {
        let cases = [
            ("filter-common/src/hash.rs", "use crate::words::Words; use core::fmt;", true, "its own crate"),
            ("filter-common/src/hash.rs", "use serde::Serialize;", false, "imports nothing"),
            ("filter-daemon/src/blocklist/deadline.rs", "use super::Target;", true, "its own room"),
            ("filter-daemon/src/blocklist.rs", "use crate::blocklist::guard;", true, "its own room"),
            ("filter-daemon/src/blocklist.rs", "use crate::kernel::Table;", false, "not listed"),
            ("filter-daemon/src/kernel/mod.rs", "fn f() { crate::daemon::g() }", false, "without use, too"),
            ("filter-daemon/src/kernel/mod.rs", "use crate::blocklist::Effects;", true, "this part"),
            (
                "filter-daemon/src/kernel/mod.rs",
                "use crate::blocklist::{Effects, Blocklist};",
                false,
                "no more",
            ),
            ("filter-daemon/src/kernel/mod.rs", "use aya::Ebpf;", true, "listed"),
            ("filter-daemon/src/blocklist/mod.rs", "mod tests { use crate::kernel::Table; }", true, "a test"),
            ("filter-daemon/src/blocklist/tests.rs", "use crate::kernel::Table;", true, "a test"),
            ("filter-daemon/src/blocklist.rs", "use filterd::kernel::Table;", false, "by its library's name"),
            ("filter-daemon/src/daemon.rs", "use aya::Ebpf; use crate::kernel;", true, "knows everybody"),
        ];
        for (path, text, allowed, why) in cases {
            assert_eq!(against(path, text).is_empty(), allowed, "{path}: {text}: {why}");
        }
    }

    #[test]
    fn a_complaint_names_the_place_the_room_and_the_import() {
        let complaints = against("filter-daemon/src/blocklist/mod.rs", "\nuse crate::kernel::Mode;");
        let expected = "filter-daemon/src/blocklist/mod.rs:2: `filter-daemon/src/blocklist` may not import crate::kernel::Mode";
        assert_eq!(complaints, [expected]);
    }

    #[test]
    fn a_new_room_gets_a_row() {
        let files =
            ["filter-daemon/src/text/lines.rs", "filter-daemon/src/clock.rs", "filter-common/src/hash.rs"];
        let files = files.map(|path| source::parse(path.to_owned(), "").unwrap());
        let house = with_new_rooms(&files, &House::read(DOCUMENT));
        let inhabited = house.rooms.iter().filter(|room| room.is_inhabited(&files));
        let paths: Vec<_> = inhabited.map(|room| room.path.as_str()).collect();
        assert_eq!(paths, ["filter-common/src", "filter-daemon/src/clock", "filter-daemon/src/text"]);
    }

    #[test]
    fn what_is_listed_in_vain_is_told_and_left_out_of_the_table() {
        let house = House::read(DOCUMENT);
        let import =
            |path: &str| Import { file: "filter-daemon/src/kernel/mod.rs", line: 1, path: path.to_owned() };
        let imports =
            [import("crate::blocklist::Effects"), import("crate::kernel::Table"), import("nix::sys")];
        let kernel = &house.rooms[2];
        assert_eq!(
            idle(kernel, &house, &imports),
            ["ARCHITECTURE.md: `filter-daemon/src/kernel` may import aya, and does not"]
        );
        let row = row(kernel, &house, &imports);
        assert_eq!(row, "| `filter-daemon/src/kernel` | `crate::blocklist::Effects`, `nix` |\n");
    }
}
