//! The text of a manual page, which comes from `NAME.txt` in this directory.
//!
//! A line that begins with `# ` begins a section. Lines that begin with `* ` are items. A line followed by an indented one is a
//! term and its meaning. In the section EXIT STATUS, lines are a code and its meaning.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The content of one file.
pub struct Text {
    pub description: Vec<Block>,
    /// Further sections, with their titles.
    pub sections: Vec<(String, Vec<Block>)>,
    pub exit_codes: BTreeMap<u8, String>,
    pub see_also: String,
}

pub enum Block {
    Prose(String),
    Items(Vec<String>),
    Terms(Vec<(String, String)>),
}

impl Text {
    /// Reads the text of the page with this name.
    pub fn of(name: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("src/cli/manual/pages/{name}.txt"));
        let file = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut parts = file.split("\n# ");
        let description = blocks(parts.next().unwrap_or_default());
        let sections = parts.map(|part| part.split_once('\n').expect("a section has lines"));
        let mut text =
            Self { description, sections: Vec::new(), exit_codes: BTreeMap::new(), see_also: String::new() };
        sections.for_each(|(title, part)| text.add(title, part.trim()));
        text
    }

    fn add(&mut self, title: &str, part: &str) {
        match title {
            "EXIT STATUS" => self.exit_codes = part.lines().map(code).collect(),
            "SEE ALSO" => self.see_also = part.to_owned(),
            other => self.sections.push((other.to_owned(), blocks(part))),
        }
    }
}

fn code(line: &str) -> (u8, String) {
    let (number, meaning) = line.split_once("  ").expect("a code, two spaces and its meaning");
    (number.parse().expect("an exit code is a number"), meaning.to_owned())
}

fn blocks(text: &str) -> Vec<Block> {
    text.split("\n\n").map(str::trim).filter(|block| !block.is_empty()).map(block).collect()
}

fn block(text: &str) -> Block {
    if text.starts_with("* ") {
        return Block::Items(text.lines().map(|line| line.trim_start_matches("* ").to_owned()).collect());
    }
    let lines: Vec<_> = text.lines().collect();
    match lines.as_chunks::<2>() {
        (pairs, []) if pairs.iter().all(|[_, meaning]| meaning.starts_with("  ")) => Block::Terms(
            pairs.iter().map(|[term, meaning]| ((*term).to_owned(), meaning.trim().to_owned())).collect(),
        ),
        _ => Block::Prose(lines.join(" ")),
    }
}
