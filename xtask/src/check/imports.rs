//! Who may import whom: ARCHITECTURE.md says why, this table says what.

use anyhow::Result;
use bpf_build::workspace;

use super::dependencies;
use super::source::{File, Name};

/// What the files of a room may name, of other rooms of their crate and of other crates.
enum May {
    /// These and nothing else, but for the standard library.
    Only(&'static [&'static str]),
    /// Anything but these.
    AllBut(&'static [&'static str]),
    /// Anything but the first, and of it the second.
    AllButExcept(&'static str, &'static str),
}
use May::{AllBut, AllButExcept, Only};

const RULES: &[(&str, May)] = &[
    ("filter-common/src/", Only(&[])),
    ("filter-ebpf/src/", Only(&["filter_common", "aya_ebpf", "aya_log_ebpf"])),
    ("filter-daemon/src/blocklist", Only(&["filter_common", "thiserror"])),
    ("filter-daemon/src/config", AllBut(&["crate::kernel", "crate::daemon"])),
    ("filter-daemon/src/source", AllBut(&["crate::kernel", "crate::daemon"])),
    ("filter-daemon/src/command", AllBut(&["crate::kernel", "crate::daemon"])),
    ("filter-daemon/src/control", AllBut(&["crate::kernel", "crate::daemon"])),
    (
        "filter-daemon/src/journal",
        Only(&[
            "filter_common",
            "crate::blocklist",
            "redb",
            "crc32fast",
            "thiserror",
            "tracing",
            "tempfile",
            "proptest",
        ]),
    ),
    ("filter-daemon/src/kernel", AllBut(&["crate::daemon", "crate::command", "crate::control"])),
    ("filter-daemon/src/kernel", AllButExcept("crate::blocklist", "crate::blocklist::Effects")),
];

/// Crates that one room alone knows.
const KEPT: &[(&str, &str)] = &[
    ("aya", "filter-daemon/src/kernel"),
    ("aya_log", "filter-daemon/src/kernel"),
    ("aya_obj", "filter-daemon/src/kernel"),
];

/// One line for each import against the rules.
pub fn complaints(files: &[File]) -> Result<Vec<String>> {
    let crates = dependencies::names(&workspace::root())?;
    Ok(files.iter().flat_map(|file| complaints_of(file, &crates)).collect())
}

fn complaints_of(file: &File, crates: &[String]) -> Vec<String> {
    let foreign = file.names.iter().filter(|name| is_foreign(name, file, crates));
    let against = foreign.filter(|name| !is_allowed(&file.path, &name.path.join("::")));
    against
        .map(|name| format!("{}:{}: may not import {}", file.path, name.line, name.path.join("::")))
        .collect()
}

/// Does it lead out of the room? What begins with a local name, or with the standard library, does not.
fn is_foreign(name: &Name, file: &File, crates: &[String]) -> bool {
    let first = &name.path[0];
    first == "crate" && name.path.len() > 1 || crates.contains(first) && !is_own_crate(first, file)
}

fn is_own_crate(name: &str, file: &File) -> bool {
    file.path.split('/').next().is_some_and(|package| package.replace('-', "_") == name)
}

fn is_allowed(file: &str, path: &str) -> bool {
    let rules = RULES.iter().filter(|(room, _)| is_in(file, room));
    rules.into_iter().all(|(room, may)| may.allows(room, path)) && is_kept(file, path)
}

fn is_kept(file: &str, path: &str) -> bool {
    !file.starts_with("filter-daemon/")
        || KEPT.iter().all(|(kept, room)| !begins_with(path, kept) || is_in(file, room))
}

impl May {
    fn allows(&self, room: &str, path: &str) -> bool {
        let among = |paths: &[&str]| paths.iter().any(|other| begins_with(path, other));
        match self {
            Only(these) => among(these) || begins_with(path, &own(room)),
            AllBut(these) => !among(these),
            AllButExcept(this, part) => !begins_with(path, this) || begins_with(path, part),
        }
    }
}

/// The room as a path: `filter-daemon/src/blocklist` is `crate::blocklist`.
fn own(room: &str) -> String {
    let inside = room.split_once("/src/").map_or("", |(_, inside)| inside);
    format!("crate::{inside}").trim_end_matches(':').to_owned()
}

/// A room is a file or a directory.
fn is_in(file: &str, room: &str) -> bool {
    file.strip_prefix(room).is_some_and(|rest| room.ends_with('/') || rest == ".rs" || rest.starts_with('/'))
}

fn begins_with(path: &str, beginning: &str) -> bool {
    path.strip_prefix(beginning).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::source;

    fn against(path: &str, text: &str) -> Vec<String> {
        let crates = ["aya", "aya_ebpf", "filter_common", "serde"].map(str::to_owned);
        complaints_of(&source::parse(path.to_owned(), text).unwrap(), &crates)
    }

    #[test]
    fn the_packages_keep_to_their_rules() {
        let cases = [
            ("filter-common/src/hash.rs", "use crate::words::Words; use core::fmt;", true, "its own crate"),
            ("filter-common/src/hash.rs", "use serde::Serialize;", false, "imports nothing"),
            ("filter-ebpf/src/main.rs", "use aya_ebpf::macros::xdp;", true, "named in the rule"),
            ("filter-ebpf/src/main.rs", "use serde::Serialize;", false, "not named in the rule"),
            ("tests/program/main.rs", "use aya::Ebpf;", true, "tests know everybody"),
        ];
        for (path, text, allowed, why) in cases {
            assert_eq!(against(path, text).is_empty(), allowed, "{path}: {text}: {why}");
        }
    }

    #[test]
    fn the_rooms_of_the_daemon_keep_to_theirs() {
        let cases = [
            ("blocklist/deadline.rs", "use super::Target;", true, "its own room"),
            ("blocklist.rs", "use crate::blocklist::guard;", true, "its own room"),
            ("blocklist.rs", "use crate::kernel::Table;", false, "the blocklist is pure"),
            ("config/mod.rs", "use crate::kernel::Mode;", false, "config never kernel"),
            ("command/add.rs", "fn f() { crate::kernel::g() }", false, "without use, too"),
            ("kernel/mod.rs", "use crate::blocklist::Effects;", true, "of the blocklist only this"),
            ("kernel/mod.rs", "use crate::blocklist::{Effects, Blocklist};", false, "not more"),
            ("kernel/mod.rs", "use aya::Ebpf;", true, "the only importer of aya"),
            ("daemon.rs", "use aya::Ebpf;", false, "not the kernel"),
            ("daemon.rs", "use crate::{kernel, blocklist};", true, "knows everybody"),
            ("sources.rs", "use crate::kernel;", true, "another room with a like name"),
        ];
        for (path, text, allowed, why) in cases {
            let path = format!("filter-daemon/src/{path}");
            assert_eq!(against(&path, text).is_empty(), allowed, "{path}: {text}: {why}");
        }
    }

    #[test]
    fn a_complaint_names_the_place_and_the_import() {
        let complaints = against("filter-daemon/src/config/mod.rs", "\nuse crate::kernel::Mode;");
        assert_eq!(complaints, ["filter-daemon/src/config/mod.rs:2: may not import crate::kernel::Mode"]);
    }
}
