//! Imports, held against `xtask/imports.toml`: nothing that it does not list, and nothing listed that is not imported.
//!
//! Tests may import everything.

use std::collections::BTreeSet;

use anyhow::Result;

use super::dependencies;
use super::rules::{Allowed, FILE, Module, Rules, begins_with};
use super::source::{File, Name};

/// Every file of these packages lies in a module that the rules list.
const GUARDED: [&str; 4] = ["filter-common/src/", "filter-ebpf/src/", "filter-daemon/src/", "xtask/bpf/src/"];

const LIBRARY: &str = "filterd::";

/// How wide the printed section is at most.
const WIDTH: usize = 110;

/// One line for each import that the rules do not list, and for each listed one that is missing.
pub fn complaints(files: &[File], rules: &Rules) -> Result<Vec<String>> {
    let imports = imports(files)?;
    let unlisted =
        files.iter().filter(|file| is_guarded(&file.path) && rules.module_of(&file.path).is_none());
    let unlisted = unlisted.map(|file| format!("{}: no module of {FILE} holds this file", file.path));
    let forbidden = imports.iter().filter_map(|import| import.complaint(rules));
    let idle = rules.modules.iter().flat_map(|module| idle(module, rules, &imports));
    let empty = rules.modules.iter().filter(|module| !module.has_files(files));
    let empty = empty.map(|module| format!("{FILE}: no file lies in `{}`", module.path));
    Ok(unlisted.chain(forbidden).chain(idle).chain(empty).collect())
}

/// The section `[imports]` as it would have to be for the code as it is.
pub fn section(files: &[File], rules: &Rules) -> Result<String> {
    let imports = imports(files)?;
    let rules = with_new_modules(files, rules);
    let used = rules.modules.iter().filter(|module| module.has_files(files));
    let rows = used.map(|module| row(module, &rules, &imports));
    Ok(["[imports]\n".to_owned()].into_iter().chain(rows).collect())
}

/// The listed modules, and those that files lie in without being listed.
fn with_new_modules(files: &[File], rules: &Rules) -> Rules {
    let unlisted =
        files.iter().filter(|file| is_guarded(&file.path) && rules.module_of(&file.path).is_none());
    let new: BTreeSet<_> = unlisted.map(|file| outermost(&file.path)).collect();
    let new = new.into_iter().map(|path| Module { path, may_import: Allowed::Only(Vec::new()) });
    let mut modules: Vec<_> = rules.modules.iter().cloned().chain(new).collect();
    modules.sort_by(|one, other| one.path.cmp(&other.path));
    Rules { modules, ..Rules::default() }
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
    fn complaint(&self, rules: &Rules) -> Option<String> {
        let module = rules.module_of(self.file)?;
        let is_allowed = module.is_own(&self.path) || module.entry_for(&self.path).is_some();
        (!is_allowed && module.may_import != Allowed::Everything)
            .then(|| format!("{}:{}: `{}` may not import {}", self.file, self.line, module.path, self.path))
    }

    /// As short as the rules say it: an entry that they have, else a module or a crate.
    fn entry(&self, module: &Module) -> String {
        let words: Vec<_> = self.path.split("::").collect();
        let kept = if words[0] == "crate" { 2 } else { 1 };
        module.entry_for(&self.path).map_or_else(|| words[..kept].join("::"), ToOwned::to_owned)
    }
}

impl Module {
    fn has_files(&self, files: &[File]) -> bool {
        files.iter().any(|file| self.holds(&file.path))
    }

    fn is_own(&self, path: &str) -> bool {
        begins_with(path, &self.in_crate())
    }

    fn entry_for(&self, path: &str) -> Option<&str> {
        let Allowed::Only(entries) = &self.may_import else { return None };
        entries.iter().find(|entry| begins_with(path, entry)).map(String::as_str)
    }
}

/// The imports of a module from outside of it.
fn out_of<'a>(
    module: &'a Module,
    rules: &'a Rules,
    imports: &'a [Import<'a>],
) -> impl Iterator<Item = &'a Import<'a>> {
    let inside = move |import: &&Import<'_>| rules.module_of(import.file) == Some(module);
    imports.iter().filter(inside).filter(|import| !module.is_own(&import.path))
}

fn idle(module: &Module, rules: &Rules, imports: &[Import<'_>]) -> Vec<String> {
    let Allowed::Only(entries) = &module.may_import else { return Vec::new() };
    let used: BTreeSet<_> = out_of(module, rules, imports).map(|import| import.entry(module)).collect();
    let idle = entries.iter().filter(|entry| !used.contains(*entry));
    idle.map(|entry| format!("{FILE}: `{}` may import {entry}, but does not", module.path)).collect()
}

fn row(module: &Module, rules: &Rules, imports: &[Import<'_>]) -> String {
    if module.may_import == Allowed::Everything {
        return format!("\"{}\" = \"everything\"\n", module.path);
    }
    let entries: BTreeSet<_> = out_of(module, rules, imports).map(|import| import.entry(module)).collect();
    let entries: Vec<_> = entries.iter().map(|entry| format!("\"{entry}\"")).collect();
    let line = format!("\"{}\" = [{}]\n", module.path, entries.join(", "));
    if line.len() <= WIDTH {
        return line;
    }
    format!("\"{}\" = [\n{}]\n", module.path, wrapped(&entries))
}

fn wrapped(entries: &[String]) -> String {
    let mut lines = vec![String::from("   ")];
    for entry in entries {
        if lines.last().is_some_and(|line| line.len() + entry.len() + 2 > WIDTH) {
            lines.push(String::from("   "));
        }
        if let Some(line) = lines.last_mut() {
            line.extend([" ", entry, ","]);
        }
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::source;

    const TEXT: &str = r#"[imports]
"filter-common/src" = []
"filter-daemon/src/blocklist" = ["filter_common"]
"filter-daemon/src/kernel" = ["aya", "crate::blocklist::Effects"]
"filter-daemon/src/daemon" = "everything"
"#;

    fn rules() -> Rules {
        Rules::read(TEXT).unwrap()
    }

    fn complaints_about(path: &str, text: &str) -> Vec<String> {
        let crates = ["aya", "filter_common", "serde"].map(str::to_owned);
        let file = source::parse(path.to_owned(), text).unwrap();
        imports_of(&file, &crates).filter_map(|import| import.complaint(&rules())).collect()
    }

    #[test]
    fn modules_import_only_what_is_listed() {
        let cases = [
            ("filter-common/src/hash.rs", "use crate::words::Words; use core::fmt;", true, "its own crate"),
            ("filter-common/src/hash.rs", "use serde::Serialize;", false, "imports nothing"),
            ("filter-daemon/src/blocklist/deadline.rs", "use super::Target;", true, "its own module"),
            ("filter-daemon/src/blocklist.rs", "use crate::blocklist::guard;", true, "its own module"),
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
            ("filter-daemon/src/daemon.rs", "use aya::Ebpf; use crate::kernel;", true, "everything"),
        ];
        for (path, text, allowed, why) in cases {
            assert_eq!(complaints_about(path, text).is_empty(), allowed, "{path}: {text}: {why}");
        }
    }

    #[test]
    fn complaints_name_place_module_and_import() {
        let complaints = complaints_about("filter-daemon/src/blocklist/mod.rs", "\nuse crate::kernel::Mode;");
        let expected = "filter-daemon/src/blocklist/mod.rs:2: `filter-daemon/src/blocklist` may not import crate::kernel::Mode";
        assert_eq!(complaints, [expected]);
    }

    #[test]
    fn new_modules_get_a_row() {
        let files =
            ["filter-daemon/src/text/lines.rs", "filter-daemon/src/clock.rs", "filter-common/src/hash.rs"];
        let files = files.map(|path| source::parse(path.to_owned(), "").unwrap());
        let rules = with_new_modules(&files, &rules());
        let used = rules.modules.iter().filter(|module| module.has_files(&files));
        let paths: Vec<_> = used.map(|module| module.path.as_str()).collect();
        assert_eq!(paths, ["filter-common/src", "filter-daemon/src/clock", "filter-daemon/src/text"]);
    }

    #[test]
    fn unused_entries_are_reported_and_left_out() {
        let rules = rules();
        let import =
            |path: &str| Import { file: "filter-daemon/src/kernel/mod.rs", line: 1, path: path.to_owned() };
        let imports =
            [import("crate::blocklist::Effects"), import("crate::kernel::Table"), import("nix::sys")];
        let kernel = &rules.modules[2];
        assert_eq!(
            idle(kernel, &rules, &imports),
            ["xtask/imports.toml: `filter-daemon/src/kernel` may import aya, but does not"]
        );
        let row = row(kernel, &rules, &imports);
        assert_eq!(row, "\"filter-daemon/src/kernel\" = [\"crate::blocklist::Effects\", \"nix\"]\n");
    }

    #[test]
    fn printed_rows_read_back_the_same() {
        let import = |path: String| Import { file: "filter-daemon/src/kernel/mod.rs", line: 1, path };
        let imports: Vec<_> = (10..40).map(|number| import(format!("crate_{number}"))).collect();
        let rules = rules();
        let row = row(&rules.modules[2], &rules, &imports);
        assert!(row.lines().all(|line| line.len() <= WIDTH), "{row}");
        let read = Rules::read(&format!("[imports]\n{row}")).unwrap();
        let entries = (10..40).map(|number| format!("crate_{number}")).collect();
        assert_eq!(read.modules[0].may_import, Allowed::Only(entries));
    }
}
