//! Prose: no sentence of the docs, the help or the messages is too long, begins with a banned word or uses one.
//!
//! The docs are Markdown files, the help is the doc comments that clap shows, and messages are the product's string literals.

mod markdown;
mod rules;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use bpf_build::workspace;

use super::exceptions::{Finding, Lint};
use super::product::{Product, Text};
use super::source;
use rules::Kind;

/// Documents in the root of the work tree.
const DOCUMENTS: [&str; 5] =
    ["ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "README.md", "SECURITY.md"];

/// Pages that are checked by whatever generates them.
const GENERATED: [&str; 2] = ["docs/benchmarks/", "docs/man/"];

/// A string literal of fewer words is no message.
const FEWEST_WORDS: usize = 4;

/// The mean length of a sentence in the docs, in words.
const MEAN: f64 = 17.0;

/// The longest sentence of the docs, in words.
const LONGEST: usize = 40;

/// The section of the docs as a whole: goals that are held since they were reached first.
const GOALS: &str = "goals of the docs";

const LINT: Lint = Lint {
    variable: "PROSE",
    list: "xtask/prose.toml",
    head: "\
# Sentences that still break the rules of prose, counted for each file. A number may only shrink.
# `PROSE=write cargo xtask check` lowers the numbers, `PROSE=list` prints the places, `PROSE=force` writes what is there.
#
# long      sentences of more than 30 words
# openings  sentences that begin with Whoever, Who, What, Of, Where, That, Which, Whose, Nor or So
# words     words and phrases that rules.rs bans
# The section of goals says which goals the docs miss: a mean of at most 17 words a sentence, and none of more than 40.",
    remark: |_| None,
};

/// One line for each number that differs from the list of exceptions.
pub fn complaints(files: &[Product]) -> Result<Vec<String>> {
    let root = workspace::root();
    let documents = documents(&root)?;
    let mut findings: Vec<_> = documents.iter().flat_map(|(path, text)| of_document(path, text)).collect();
    findings.extend(goals(&documents));
    findings.extend(files.iter().flat_map(of_source));
    LINT.complaints(&findings)
}

/// Paths and texts of all documents.
fn documents(root: &Path) -> Result<Vec<(String, String)>> {
    let is_document = |path: &String| {
        DOCUMENTS.contains(&path.as_str()) || path.starts_with("docs/") && !is_generated(path)
    };
    let paths = source::paths(root, "md")?.into_iter().filter(is_document);
    let read = |path: String| {
        let text = fs::read_to_string(root.join(&path)).with_context(|| format!("cannot read {path}"))?;
        Ok((path, text))
    };
    paths.map(read).collect()
}

fn is_generated(path: &str) -> bool {
    GENERATED.iter().any(|place| path.starts_with(place))
}

fn of_document(path: &str, text: &str) -> Vec<Finding> {
    let paragraphs = markdown::paragraphs(text);
    paragraphs.iter().flat_map(|paragraph| of_text(path, &paragraph.text, Kind::Docs)).collect()
}

fn of_source(file: &Product) -> Vec<Finding> {
    let help = file.help.iter().flat_map(|help| of_text(&file.path, help, Kind::Docs));
    let is_message = |text: &&Text| text.text.split_whitespace().count() >= FEWEST_WORDS;
    let messages = file.literals.iter().filter(is_message);
    help.chain(messages.flat_map(|text| of_text(&file.path, text, Kind::Message))).collect()
}

/// What breaks a rule in a text, whose blank lines part paragraphs.
fn of_text(path: &str, text: &Text, kind: Kind) -> Vec<Finding> {
    let paragraphs = rules::paragraphs(&text.text, kind);
    let sentences = paragraphs.iter().flat_map(|paragraph| rules::sentences(paragraph));
    let finding = |(rule, shown): (&str, String)| Finding {
        section: path.to_owned(),
        key: rule.to_owned(),
        shown: format!("{path}:{}: {shown}", text.line),
    };
    sentences.flat_map(|sentence| rules::broken(&sentence, kind)).map(finding).collect()
}

/// The goals that the docs miss as a whole.
fn goals(documents: &[(String, String)]) -> Vec<Finding> {
    let paragraphs = documents.iter().flat_map(|(_, text)| markdown::paragraphs(text));
    let running: Vec<_> = paragraphs.filter(|paragraph| !paragraph.is_cell).collect();
    let sentences = running.iter().flat_map(|paragraph| rules::sentences(&paragraph.text.text));
    missed(sentences.map(|sentence| rules::length(&sentence)).filter(|&words| words >= 3))
}

fn missed(lengths: impl Iterator<Item = usize>) -> Vec<Finding> {
    let lengths: Vec<_> = lengths.collect();
    let longest = lengths.iter().copied().max().unwrap_or(0);
    let mean = lengths.iter().sum::<usize>() as f64 / lengths.len().max(1) as f64;
    println!("check: the docs have {} sentences, mean {mean:.1} words, longest {longest}", lengths.len());
    let goals = [
        (mean > MEAN, "mean", format!("the mean sentence has {mean:.1} words, more than {MEAN}")),
        (
            longest > LONGEST,
            "longest",
            format!("the longest sentence has {longest} words, more than {LONGEST}"),
        ),
    ];
    let missed = goals.into_iter().filter(|(is_missed, ..)| *is_missed);
    missed.map(|(_, key, shown)| Finding { section: GOALS.to_owned(), key: key.to_owned(), shown }).collect()
}

#[cfg(test)]
mod tests {
    use super::super::product;
    use super::*;

    fn keys(findings: &[Finding]) -> Vec<&str> {
        findings.iter().map(|finding| finding.key.as_str()).collect()
    }

    #[test]
    fn documents_are_checked_down_to_table_cells() {
        let text = "# What it is\n\nIt works. Whoever reads it\nknows.\n\n| What | Where |\n|---|---|\n| a | Of each packet, one. |\n\n\
                    ```\nWhoever says so\n```\n<!-- Who asks? Nobody is told. -->\n";
        let findings = of_document("a.md", text);
        assert_eq!(keys(&findings), ["openings", "words", "openings"]);
        assert_eq!(findings[0].shown, "a.md:3: Whoever reads it knows.");
        assert_eq!(findings[2].shown, "a.md:8: Of each packet, one.");
    }

    #[test]
    fn help_and_messages_are_checked() {
        let text = "/// Tells the kernel what to do\n#[derive(Args)]\nstruct A;\n/// Tells nobody of it\nfn f() {\n    \
                    warn!(\"{name} is not there\");\n    g(\"told\");\n}";
        let file = product::parse("filter-daemon/src/a.rs".to_owned(), text).unwrap();
        let findings = of_source(&file);
        let shown: Vec<_> = findings.iter().map(|finding| finding.shown.as_str()).collect();
        let expected =
            ["a.rs:1: tells: Tells the kernel what to do", "a.rs:6: is not there: {name} is not there"];
        assert_eq!(shown, expected.map(|shown| format!("filter-daemon/src/{shown}")));
    }

    #[test]
    fn goals_of_the_docs_are_mean_and_longest() {
        for (lengths, goals) in [
            (&[17, 17][..], &[][..]),
            (&[17, 18], &["mean"]),
            (&[1, 1, 41], &["longest"]),
            (&[41, 41], &["mean", "longest"]),
            (&[], &[]),
        ] {
            assert_eq!(keys(&missed(lengths.iter().copied())), goals, "{lengths:?}");
        }
    }
}
