//! Names: a method that changes something is not named like a question, a type name means one thing in a crate, and a doc comment
//! says something.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;

use super::exceptions::{Finding, Lint};
use super::product::{Function, Product, Receiver};

/// First words of names that ask or describe.
const QUESTIONS: [&str; 13] =
    ["is", "are", "was", "has", "have", "knows", "may", "can", "holds", "finds", "loses", "says", "needs"];

/// First words of names that promise a bool.
const BOOLS: [&str; 4] = ["is", "has", "may", "can"];

/// A doc comment has at least so many words.
const FEWEST_WORDS: usize = 4;

/// Type names that are always written with their module.
const IDIOMATIC: [&str; 3] = ["Error", "Reply", "Request"];

/// In each of these a type of the same name may stand once: a command's arguments, and what they become.
const PARALLEL: [&str; 3] = ["cli", "command", "control/wire"];

/// The modules that issue 44 rewrites. It gives them new names, too, and empties their part of the list.
const LEFT_TO_ISSUE_44: [&str; 7] = [
    "filter-daemon/src/daemon/configuration",
    "filter-daemon/src/daemon/diff",
    "filter-daemon/src/daemon/lists",
    "filter-daemon/src/daemon/reading",
    "filter-daemon/src/daemon/refresh",
    "filter-daemon/src/daemon/reload",
    "filter-daemon/src/daemon/trial",
];

const LINT: Lint = Lint {
    variable: "NAMES",
    list: "xtask/names.toml",
    head: "\
# Names and doc comments that still break the rules of `cargo xtask check`, counted for each file. A number may only shrink.
# `NAMES=write cargo xtask check` lowers the numbers, `NAMES=list` prints the places, `NAMES=force` writes what is there.
#
# mutators  methods with `&mut self` that are named like a question or a state
# bools     functions named is_, has_, may_ or can_ that change something or do not return bool
# docs      doc comments of fewer than four words
# Sections named after a crate count the files that define a type of this name.
# Sections marked `issue 44` belong to modules that this issue rewrites.",
    remark,
};

/// One line for each number that differs from the list of exceptions.
pub fn complaints(files: &[Product]) -> Result<Vec<String>> {
    LINT.complaints(&findings(files))
}

fn findings(files: &[Product]) -> Vec<Finding> {
    files.iter().flat_map(of_file).chain(of_types(files)).collect()
}

fn of_file(file: &Product) -> Vec<Finding> {
    let finding = |key: &str, line: usize, shown: &str| Finding {
        section: file.path.clone(),
        key: key.to_owned(),
        shown: format!("{}:{line}: {shown}", file.path),
    };
    let functions = file.functions.iter();
    let functions =
        functions.filter_map(|function| Some(finding(broken(function)?, function.line, &function.name)));
    let short = file.docs.iter().filter(|doc| doc.text.split_whitespace().count() < FEWEST_WORDS);
    let docs = short.map(|doc| finding("docs", doc.line, doc.text.trim()));
    functions.chain(docs).collect()
}

/// The rule that this function's name breaks.
fn broken(function: &Function) -> Option<&'static str> {
    let first = function.name.split('_').next().unwrap_or_default();
    if function.receiver == Receiver::Mutable && QUESTIONS.contains(&first) {
        return Some("mutators");
    }
    (BOOLS.contains(&first) && !function.is_bool).then_some("bools")
}

/// Type names that several files of a crate define.
fn of_types(files: &[Product]) -> Vec<Finding> {
    let mut places = BTreeMap::<(&str, &str), BTreeSet<&str>>::new();
    for file in files {
        let name = file.path.split('/').next().unwrap_or_default();
        for one in &file.types {
            places.entry((name, &one.text)).or_default().insert(&file.path);
        }
    }
    let shared = places.into_iter().filter(|((_, name), paths)| paths.len() > 1 && !may_repeat(name, paths));
    let findings = shared.flat_map(|((package, name), paths)| {
        let section = type_section(package, &paths);
        paths.into_iter().map(move |path| Finding {
            section: section.clone(),
            key: name.to_owned(),
            shown: path.to_owned(),
        })
    });
    findings.collect()
}

/// The crate's section, or the one of issue 44 if its modules alone make the name ambiguous.
fn type_section(package: &str, paths: &BTreeSet<&str>) -> String {
    let others = paths.iter().filter(|path| !is_left(path)).count();
    if others > 1 { package.to_owned() } else { format!("{package}, issue 44") }
}

fn may_repeat(name: &str, paths: &BTreeSet<&str>) -> bool {
    let areas: Vec<_> = paths.iter().map(|path| area(path)).collect();
    let distinct: BTreeSet<_> = areas.iter().collect();
    IDIOMATIC.contains(&name) || (areas.iter().all(Option::is_some) && distinct.len() == areas.len())
}

/// Which of the parallel modules a file lies in.
fn area(path: &str) -> Option<&'static str> {
    let inside = path.strip_prefix("filter-daemon/src/")?;
    PARALLEL.into_iter().find(|area| {
        inside.strip_prefix(area).is_some_and(|rest| rest.starts_with('/') || rest.starts_with('.'))
    })
}

fn is_left(path: &str) -> bool {
    LEFT_TO_ISSUE_44.iter().any(|module| path.starts_with(module))
}

fn remark(section: &str) -> Option<&'static str> {
    is_left(section).then_some("issue 44")
}

#[cfg(test)]
mod tests {
    use super::super::product;
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<(String, String)> {
        let parse = |(path, text): &(&str, &str)| product::parse((*path).to_owned(), text).unwrap();
        let files: Vec<_> = files.iter().map(parse).collect();
        findings(&files).into_iter().map(|finding| (finding.section, finding.key)).collect()
    }

    #[test]
    fn names_of_functions_are_checked() {
        for (function, rule) in [
            ("fn is_over(&mut self, now: u64) {}", Some("mutators")),
            ("fn is_over(&mut self) -> bool {}", Some("mutators")),
            ("fn knows(&mut self) {}", Some("mutators")),
            ("fn needs_more<'a>(&'a mut self) {}", Some("mutators")),
            ("fn is_over(&self) -> Option<u8> {}", Some("bools")),
            ("fn can_end(self) {}", Some("bools")),
            ("fn has_word(text: &str) -> usize {}", Some("bools")),
            ("fn is_over(&self) -> bool {}", None),
            ("fn is_over(self) -> bool {}", None),
            ("fn has_word(text: &str) -> bool {}", None),
            ("fn holds(&self) -> Option<u8> {}", None),
            ("fn isolate(&mut self) {}", None),
            ("fn canonical(&mut self) {}", None),
            ("fn begin_rollback(&mut self) {}", None),
        ] {
            let text = format!("impl X {{ {function} }}");
            let rules: Vec<_> =
                found(&[("filter-daemon/src/a.rs", &text)]).into_iter().map(|(_, key)| key).collect();
            assert_eq!(rules, Vec::from_iter(rule), "{function}");
        }
    }

    #[test]
    fn short_doc_comments_are_counted() {
        let text = "/// Which.\nfn a() {}\n/// The same, slower.\nfn b() {}\n/// Starts the rollback now.\nfn c() {}\n/// One\n/// two three four\nfn d() {}\n";
        assert_eq!(found(&[("filter-daemon/src/a.rs", text)]).len(), 2);
    }

    #[test]
    fn a_type_name_means_one_thing() {
        let package = Some("filter-daemon");
        for (name, paths, section) in [
            ("State", &["a.rs", "b/c.rs"][..], package),
            ("State", &["a.rs"], None),
            ("Error", &["a.rs", "b/c.rs"], None),
            ("Add", &["command/add.rs", "control/wire/add.rs"], None),
            ("Add", &["command/add.rs", "control/wire/add.rs", "cli/mod.rs"], None),
            ("Add", &["command/add.rs", "command/allow/add.rs"], package),
            ("Add", &["command/add.rs", "control/wire/add.rs", "a.rs"], package),
            ("State", &["daemon/trial/mod.rs", "a.rs"], Some("filter-daemon, issue 44")),
            ("State", &["daemon/trial/mod.rs", "a.rs", "b.rs"], package),
        ] {
            let text = format!("struct {name};");
            let paths: Vec<_> = paths.iter().map(|path| format!("filter-daemon/src/{path}")).collect();
            let files: Vec<_> = paths.iter().map(|path| (path.as_str(), text.as_str())).collect();
            let sections: BTreeSet<_> = found(&files).into_iter().map(|(section, _)| section).collect();
            assert_eq!(sections, section.map(ToOwned::to_owned).into_iter().collect(), "{name} in {paths:?}");
        }
    }

    #[test]
    fn crates_have_type_names_of_their_own() {
        let files = [("filter-daemon/src/a.rs", "struct A;"), ("filter-common/src/a.rs", "struct A;")];
        assert_eq!(found(&files), []);
    }

    #[test]
    fn modules_of_issue_44_are_marked() {
        for (path, is_marked) in [
            ("filter-daemon/src/daemon/refreshing.rs", true),
            ("filter-daemon/src/daemon/trial/mod.rs", true),
            ("filter-daemon/src/source/list.rs", false),
        ] {
            assert_eq!(remark(path).is_some(), is_marked, "{path}");
        }
    }
}
