//! Every fault that was found has tests, and they are there: tests/faults.md names them, and what it names stands where it says.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use bpf_build::workspace;

const TABLE: &str = "tests/faults.md";

/// One line for each fault without a test, and for each test that is not there.
pub fn complaints() -> Result<Vec<String>> {
    let root = workspace::root();
    let table = fs::read_to_string(root.join(TABLE)).with_context(|| format!("cannot read {TABLE}"))?;
    let rows: Vec<_> = rows(&table).collect();
    ensure!(!rows.is_empty(), "{TABLE} names no faults");
    Ok(rows.iter().flat_map(|(fault, tests)| of_fault(fault, tests, &root)).collect())
}

fn of_fault(fault: &str, tests: &[&str], root: &Path) -> Vec<String> {
    if tests.is_empty() {
        return vec![format!("{TABLE}: {fault} has no test")];
    }
    let missing = tests.iter().filter(|test| !is_there(test, root));
    missing.map(|test| format!("{TABLE}: {fault} is held by `{test}`, which is not there")).collect()
}

/// The first cell of each row below the head, and the tests in its last one: those words in quotes that name a function.
fn rows(table: &str) -> impl Iterator<Item = (&str, Vec<&str>)> {
    let rows = table.lines().filter(|line| line.starts_with("| ")).skip(1);
    rows.filter_map(|row| {
        let cells: Vec<_> = row.trim_matches('|').split(" | ").collect();
        let (fault, tests) = (cells.first()?.trim(), cells.last()?);
        Some((fault, tests.split('`').skip(1).step_by(2).filter(|word| word.contains("::")).collect()))
    })
}

/// `tests/network/log::a_story`: the function of that name is a test in that file.
fn is_there(test: &str, root: &Path) -> bool {
    let Some((file, name)) = test.split_once("::") else { return false };
    let text = fs::read_to_string(root.join(file).with_extension("rs")).unwrap_or_default();
    let begin = format!("fn {name}(");
    let Some(at) = text.find(&begin) else { return false };
    text[..at].lines().rev().take_while(|line| !line.is_empty()).any(|line| line.trim() == "#[test]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_read_with_their_tests() {
        let table = "# T\n\n| fault | what | tests |\n|---|---|---|\n| P1 | it `hung` | `a/b::c` `d::e` (`cargo xtask soak`) |\n| P2 | x | |\n";
        let rows: Vec<_> = rows(table).collect();
        assert_eq!(rows, [("P1", vec!["a/b::c", "d::e"]), ("P2", vec![])]);
    }

    #[test]
    fn missing_test_is_reported() {
        let root = workspace::root();
        let own = "xtask/src/check/faults::missing_test_is_reported";
        assert_eq!(of_fault("P1", &[own], &root), Vec::<String>::new());
        let none =
            ["xtask/src/check/faults::is_there", "xtask/src/check/faults::nothing", "nowhere::nothing"];
        assert_eq!(of_fault("P1", &none, &root).len(), 3);
        assert_eq!(of_fault("P1", &[], &root), ["tests/faults.md: P1 has no test"]);
    }

    #[test]
    fn all_of_ours_are_there() {
        assert_eq!(complaints().unwrap(), Vec::<String>::new());
    }

    /// FAULTS B4: namespaces and daemons are made in one place only.
    #[test]
    fn the_demo_stands_on_the_harness() {
        let files = fs::read_dir(workspace::root().join("tests/demo")).unwrap();
        let text: String = files.map(|file| fs::read_to_string(file.unwrap().path()).unwrap()).collect();
        assert!(text.contains("use harness::"));
        for own in ["Command::new", "netns", "unshare", "nsenter", "setns", "rtnetlink"] {
            assert!(!text.contains(own), "the demo has its own {own}");
        }
    }
}
