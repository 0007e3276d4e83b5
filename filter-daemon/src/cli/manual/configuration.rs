//! filterd.yaml(5): the reference of the configuration, `configs/filterd.yaml`, which tests hold to the defaults and to
//! every key that there is.

use super::text;
use crate::config;

const REFERENCE: &str = include_str!("../../../../configs/filterd.yaml");

const NAME: &str = "\
.SH NAME
filterd.yaml \\- the configuration of filterd(8)
.SH SYNOPSIS
.I /etc/filterd/filterd.yaml
.SH DESCRIPTION
";

const SEE_ALSO: &str =
    ".SH \"SEE ALSO\"\nfilterd(8), filterd\\-check(8), filterd\\-diff(8), filterd\\-reload(8)\n";

/// The page.
pub fn page() -> String {
    let mut blocks = REFERENCE.trim_end().split("\n\n");
    let about = blocks.next().unwrap();
    let keys: String = blocks.map(key).collect();
    format!("{}{NAME}{}.SH KEYS\n{keys}{SEE_ALSO}", text::head("filterd.yaml", "5"), lines(about))
}

/// A key with its default, what it means, and what it may look like.
fn key(block: &str) -> String {
    let is_default = |line: &&str| !line.starts_with('#');
    let default = block.lines().find(is_default).expect("each part of the reference has a key");
    let (name, value) = default.split_once(':').expect("a key has a colon");
    let told = match value.trim() {
        "" => "Default: nothing.".to_owned(),
        value => format!("Default: `{value}`."),
    };
    let (before, behind) = block.split_once(default).unwrap();
    format!(".SS {name}\n{}.PP\n{}{}", lines(before), text::prose(&told), lines(behind))
}

/// Comments are prose; what is a comment only because it is no default is an example.
fn lines(part: &str) -> String {
    let (mut made, mut prose, mut example) = (String::new(), Vec::new(), Vec::new());
    for line in part.lines().filter(|line| !line.is_empty()) {
        match line.strip_prefix("# ") {
            Some(said) => {
                end_example(&mut example, &mut made);
                prose.push(said);
            }
            None => {
                end_prose(&mut prose, &mut made);
                example.push(line.trim_start_matches('#'));
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
            "configs/filterd.yaml, and so filterd.yaml(5), says nothing of `{key}`"
        );
    }
}
