//! docs/benchmarks.md: which benchmarks there are, and which of their goals hold. It is made out of their pages.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use bpf_build::{process, workspace};

use super::What;

/// Runs a benchmark. If it `writes`, then its page, and the index anew.
pub fn with_page(benchmark: &mut Command, name: &str, writes: bool) -> Result<()> {
    if writes {
        let pages = pages();
        fs::create_dir_all(&pages).with_context(|| format!("cannot make {}", pages.display()))?;
        benchmark.arg("--page").arg(page(name));
    }
    process::run(benchmark).context("cannot measure")?;
    if writes { write() } else { Ok(()) }
}

/// Writes it.
fn write() -> Result<()> {
    let entries: Vec<_> = What::names().into_iter().map(|(name, about)| Entry::read(name, about)).collect();
    let file = workspace::root().join("docs/benchmarks.md");
    fs::write(&file, text(&entries)).with_context(|| format!("cannot write {}", file.display()))
}

/// A benchmark, and what its page tells of goals.
struct Entry {
    name: String,
    about: String,
    machine: Option<String>,
    goals: Vec<Goal>,
}

/// One line of a table of goals.
struct Goal {
    words: String,
    measured: String,
    holds: bool,
}

/// How the table of goals on a page begins: `tests/measure` makes it.
const HEAD: &str = "| goal | measured | holds |";

const WORDS: &str = "`cargo xtask bench` runs all of them, writes their pages, and takes half an hour; each is also a command of its \
own. Everybody takes turns in one run. They print plain tables (`--json`: one object). With `--short` they are \
faster and less exact, and write no page. Trust ratios \
before digits, and your own machine before ours.";

const BESIDE: &str = "`bench --beside PROGRAM` takes a program of yours into the tables: a driver for a C++ library that you have \
built, say. `tests/bench/filter/beside.rs` tells what it reads and what it must print.";

fn text(entries: &[Entry]) -> String {
    let mut text = format!("# Benchmarks\n\nMade by `cargo xtask bench`; do not edit.\n\n{WORDS}\n\n");
    text += "| command | what it measures | goals held | page |\n| --- | --- | ---: | --- |\n";
    for entry in entries {
        let Entry { name, about, goals, .. } = entry;
        let held = goals.iter().filter(|goal| goal.holds).count();
        let held = if goals.is_empty() { String::new() } else { format!("{held} of {}", goals.len()) };
        _ = writeln!(
            text,
            "| `cargo xtask bench {name}` | {about} | {held} | [{name}](benchmarks/{name}.md) |"
        );
    }
    text += "\n## Goals that do not hold here\n\n| page | goal | measured |\n| --- | --- | ---: |\n";
    for entry in entries {
        for goal in entry.goals.iter().filter(|goal| !goal.holds) {
            _ = writeln!(text, "| {} | {} | {} |", entry.name, goal.words, goal.measured);
        }
    }
    let mut machines: Vec<_> = entries.iter().filter_map(|entry| entry.machine.as_deref()).collect();
    machines.dedup();
    format!("{text}\nMeasured on {}.\n\n{BESIDE}\n", machines.join("; "))
}

impl Entry {
    /// One whose page is not written yet has no goals.
    fn read(name: String, about: String) -> Self {
        let page = fs::read_to_string(page(&name)).unwrap_or_default();
        Self { name, about, machine: machine(&page), goals: goals(&page) }
    }
}

/// What the page was measured on; how busy that was is told there.
fn machine(page: &str) -> Option<String> {
    let line = page.lines().find_map(|line| line.strip_prefix("Measured on "))?;
    Some(line.split(", load average").next().unwrap_or(line).trim_end_matches('.').to_owned())
}

fn goals(page: &str) -> Vec<Goal> {
    let mut lines = page.lines();
    let mut goals = Vec::new();
    while lines.any(|line| line == HEAD) {
        // The line below the head is a rule.
        goals.extend(lines.by_ref().skip(1).map_while(goal));
    }
    goals
}

fn goal(line: &str) -> Option<Goal> {
    let cells: Vec<_> = line.strip_prefix("| ")?.strip_suffix(" |")?.split(" | ").collect();
    let [words, measured, holds] = cells[..] else { return None };
    Some(Goal { words: words.to_owned(), measured: measured.to_owned(), holds: holds == "yes" })
}

fn page(name: &str) -> PathBuf {
    pages().join(name).with_extension("md")
}

fn pages() -> PathBuf {
    workspace::root().join(Path::new("docs/benchmarks"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# Live\n\nMeasured on 2 × Z80, L1 none, load average 0.10.\n\n| guarded by | ns |\n| --- | ---: |\n| nobody | 1 |\n\n### Goals\n\n\
        | goal | measured | holds |\n| --- | ---: | ---: |\n| fast ≤ 1 | 0.50 | yes |\n| small ≤ 2 | 3.00 | no |\n\n\
        ## More\n\n| goal | measured | holds |\n| --- | ---: | ---: |\n| fair ≥ 1 | 1.00 | yes |\n";

    #[test]
    fn all_goals_of_a_page_are_found_and_nothing_else() {
        let found = goals(PAGE);
        let told: Vec<_> = found.iter().map(|goal| (goal.words.as_str(), goal.holds)).collect();
        assert_eq!(told, [("fast ≤ 1", true), ("small ≤ 2", false), ("fair ≥ 1", true)]);
    }

    #[test]
    fn the_index_counts_goals_and_names_those_that_do_not_hold() {
        let entry = |name: &str, page| Entry {
            name: name.to_owned(),
            about: "it".to_owned(),
            machine: machine(page),
            goals: goals(page),
        };
        let text = text(&[entry("live", PAGE), entry("paper", "# Paper\n")]);
        assert!(text.contains("| it | 2 of 3 | [live](benchmarks/live.md) |"), "{text}");
        assert!(text.contains("| it |  | [paper]"), "{text}");
        assert!(text.contains("\nMeasured on 2 × Z80, L1 none.\n"), "{text}");
        assert!(text.contains("| live | small ≤ 2 | 3.00 |") && !text.contains("fast ≤ 1"), "{text}");
    }
}
