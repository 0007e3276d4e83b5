//! Makes filterd.yaml(5) from the reference of the configuration, `configs/reference.yaml`. Tests hold that file to the
//! defaults and to every key of the program.

use super::text;
use crate::config;

const REFERENCE: &str = include_str!("../../../../configs/reference.yaml");

const NAME: &str = "\
.SH NAME
filterd.yaml \\- the configuration of filterd(8)
.SH SYNOPSIS
.I /etc/filterd/filterd.yaml
.SH DESCRIPTION
";

const SEE_ALSO: &str =
    ".SH \"SEE ALSO\"\nfilterd(8), filterd\\-check(8), filterd\\-diff(8), filterd\\-reload(8)\n";

/// Writes the whole page, filterd.yaml(5).
pub fn page() -> String {
    let mut blocks = REFERENCE.trim_end().split("\n\n");
    let about = blocks.next().unwrap();
    let keys: String = blocks.map(key).collect();
    format!("{}{NAME}{}.SH KEYS\n{keys}{SEE_ALSO}", text::head("filterd.yaml", "5"), lines(about))
}

/// A top-level key: its comment, which names the default, and examples.
fn key(block: &str) -> String {
    let is_default = |line: &&str| !line.starts_with('#');
    let default = block.lines().find(is_default).expect("each part of the reference has a key");
    let (name, _) = default.split_once(':').expect("a key has a colon");
    let (before, behind) = block.split_once(default).unwrap();
    format!(".SS {name}\n{}{}", lines(before), lines(behind))
}

/// Comments are prose. Indented comments are tables, and lines that are commented out are examples: both keep their lines.
/// A comment without text ends a paragraph.
fn lines(part: &str) -> String {
    let (mut made, mut prose, mut example) = (String::new(), Vec::new(), Vec::new());
    for line in part.lines().filter(|line| !line.is_empty()) {
        match line.strip_prefix("# ") {
            Some(said) if !said.starts_with(' ') => {
                end_example(&mut example, &mut made);
                prose.push(said);
            }
            None if line == "#" => {
                end_prose(&mut prose, &mut made);
                end_example(&mut example, &mut made);
            }
            said => {
                end_prose(&mut prose, &mut made);
                example.push(said.map_or_else(|| line.trim_start_matches('#'), str::trim_start));
            }
        }
    }
    end_prose(&mut prose, &mut made);
    end_example(&mut example, &mut made);
    made
}

fn end_prose(lines: &mut Vec<&str>, made: &mut String) {
    if !lines.is_empty() {
        *made += &format!(".PP\n{}", text::prose(&lines.join(" ")));
        lines.clear();
    }
}

fn end_example(lines: &mut Vec<&str>, made: &mut String) {
    if !lines.is_empty() {
        *made += &text::example(lines.drain(..));
    }
}

#[test]
fn the_reference_shows_every_key() {
    let is_word = |character: char| character.is_ascii_alphanumeric() || character == '_';
    for key in config::keys() {
        let written = format!("{key}:");
        let shown = REFERENCE.match_indices(&written);
        let mut shown = shown.filter(|(at, _)| !REFERENCE[..*at].ends_with(is_word));
        assert!(
            shown.next().is_some(),
            "configs/reference.yaml, and therefore filterd.yaml(5), does not describe `{key}`"
        );
    }
}
