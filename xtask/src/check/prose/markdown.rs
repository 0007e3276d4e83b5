//! The prose of a Markdown file: running paragraphs, items of lists, and cells of tables.

use super::Text;

/// Text without a blank line in it.
#[derive(Debug, PartialEq, Eq)]
pub struct Paragraph {
    pub text: Text,
    /// It is a cell of a table.
    pub is_cell: bool,
}

/// Comments around a part that a test generates end so.
const GENERATED: [&str; 2] = [": begin -->", ": end -->"];

/// All prose of a document, without headings, code blocks, comments, heads of tables, and generated parts.
pub fn paragraphs(document: &str) -> Vec<Paragraph> {
    let mut reader = Reader::default();
    let lines: Vec<_> = document.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        let next = lines.get(at + 1).copied().unwrap_or_default();
        reader.line(at + 1, line.trim(), next.trim());
    }
    reader.end();
    reader.paragraphs
}

#[derive(Debug, Default)]
struct Reader {
    paragraphs: Vec<Paragraph>,
    open: Option<Text>,
    is_code: bool,
    is_comment: bool,
    is_generated: bool,
}

impl Reader {
    fn line(&mut self, number: usize, line: &str, next: &str) {
        let line = line.trim_start_matches("> ");
        if self.follow(line) || line.is_empty() || line.starts_with(['#', '<']) {
            self.end();
        } else if line.starts_with('|') {
            self.end();
            self.row(number, line, next);
        } else if let Some(item) = item(line) {
            self.end();
            self.add(number, item);
        } else {
            self.add(number, line);
        }
    }

    /// Follows blocks of code, comments and generated parts, and returns whether the line belongs to one.
    fn follow(&mut self, line: &str) -> bool {
        let is_fence = line.starts_with("```");
        let is_comment = line.starts_with("<!--");
        if is_comment && GENERATED.iter().any(|end| line.ends_with(end)) {
            self.is_generated = line.ends_with(GENERATED[0]);
        } else if self.is_generated {
            return true;
        } else if is_fence || self.is_code {
            self.is_code ^= is_fence;
        } else if is_comment || self.is_comment {
            self.is_comment = !line.contains("-->");
        } else {
            return false;
        }
        true
    }

    fn add(&mut self, number: usize, line: &str) {
        match &mut self.open {
            None => self.open = Some(Text { line: number, text: line.to_owned() }),
            Some(open) => open.text = format!("{} {line}", open.text),
        }
    }

    fn end(&mut self) {
        let open = self.open.take();
        self.paragraphs.extend(open.map(|text| Paragraph { text, is_cell: false }));
    }

    /// Adds the cells of a row, unless it is the head of a table or the line below it.
    fn row(&mut self, number: usize, line: &str, next: &str) {
        if is_rule(line) || is_rule(next) {
            return;
        }
        let cells = cells(line).into_iter().filter(|cell| !cell.is_empty());
        let cells = cells.map(|text| Paragraph { text: Text { line: number, text }, is_cell: true });
        self.paragraphs.extend(cells);
    }
}

/// The text of an item of a list: behind `-`, `*`, `+`, `1.` or `1)`.
fn item(line: &str) -> Option<&str> {
    let (mark, text) = line.split_once(' ')?;
    let number = mark.strip_suffix(['.', ')']).unwrap_or("");
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    (["-", "*", "+"].contains(&mark) || is_number).then_some(text)
}

fn is_rule(line: &str) -> bool {
    line.starts_with('|') && line.contains("--") && line.chars().all(|letter| "|-: ".contains(letter))
}

/// The cells of a row. A bar in a code span or behind a backslash parts none.
fn cells(line: &str) -> Vec<String> {
    let (mut cells, mut is_code, mut is_escaped) = (vec![String::new()], false, false);
    for letter in line.trim_matches('|').chars() {
        if letter == '|' && !is_code && !is_escaped {
            cells.push(String::new());
        } else if let Some(cell) = cells.last_mut() {
            cell.push(letter);
        }
        is_code ^= letter == '`';
        is_escaped = letter == '\\';
    }
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(document: &str) -> Vec<String> {
        paragraphs(document).into_iter().map(|paragraph| paragraph.text.text).collect()
    }

    #[test]
    fn only_prose_is_read() {
        for (document, expected) in [
            ("# Head\nOne\ntwo\n\nthree", &["One two", "three"][..]),
            ("- One\n  two\n- three\n1. four\n2) five", &["One two", "three", "four", "five"]),
            ("> One\n> two", &["One two"]),
            ("One\n```sh\ntwo\n```\nthree", &["One", "three"]),
            ("  ```sh\n  one\n  ```\n  two", &["two"]),
            ("One\n<!-- two\nthree -->\nfour", &["One", "four"]),
            ("One\n<!-- from types: begin -->\n| a |\n<!-- from types: end -->\ntwo", &["One", "two"]),
            ("<p align=center>\nOne", &["One"]),
            ("2001 was a year", &["2001 was a year"]),
            (
                "| a | b |\n|---|---:|\n| one | `x|y` two |\n| three \\| four | |",
                &["one", "`x|y` two", "three \\| four"],
            ),
        ] {
            assert_eq!(texts(document), expected, "{document}");
        }
    }

    #[test]
    fn lines_are_numbered() {
        let lines: Vec<_> = paragraphs("# Head\n\nOne\ntwo\n\n- three\n")
            .iter()
            .map(|paragraph| paragraph.text.line)
            .collect();
        assert_eq!(lines, [3, 6]);
    }
}
