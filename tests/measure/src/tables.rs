//! Tables, for a terminal and for a page.

use std::fmt::Write;

use serde_json::{Map, Value, json};

/// A title, the heads of its columns, and rows of as many cells.
#[derive(Debug)]
pub struct Table {
    pub title: String,
    pub heads: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// In columns of equal width: the first to the left, the others to the right.
    pub fn text(&self) -> String {
        let widths = self.widths();
        let line = |row: &[String]| {
            let cells = row.iter().zip(&widths).enumerate();
            let cells = cells
                .map(|(at, (cell, &width))| if at == 0 { left(cell, width) } else { right(cell, width) });
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        };
        let lines = [&self.heads].into_iter().chain(&self.rows).map(|row| line(row));
        format!("{}\n{}\n", self.title, lines.collect::<Vec<_>>().join("\n"))
    }

    /// In Markdown.
    pub fn markdown(&self) -> String {
        let mut text = format!("### {}\n\n", self.title);
        let rule = (0..self.heads.len()).map(|at| if at == 0 { "---" } else { "---:" }.to_owned()).collect();
        for row in [&self.heads, &rule].into_iter().chain(&self.rows) {
            _ = writeln!(text, "| {} |", row.join(" | "));
        }
        text
    }

    /// For a program: each row by the heads of its columns.
    pub fn json(&self) -> Value {
        let row = |row: &Vec<String>| {
            let cells = self.heads.iter().zip(row).map(|(head, cell)| (head.clone(), value(cell)));
            Value::Object(cells.collect::<Map<_, _>>())
        };
        json!({"title": self.title, "rows": self.rows.iter().map(row).collect::<Vec<_>>()})
    }

    fn widths(&self) -> Vec<usize> {
        let width = |at: usize| {
            let cells = [&self.heads].into_iter().chain(&self.rows).filter_map(|row| row.get(at));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        (0..self.heads.len()).map(width).collect()
    }
}

/// What reads like a number is one.
fn value(cell: &str) -> Value {
    cell.parse::<f64>().map_or_else(|_| cell.into(), Into::into)
}

/// 1000000 as "1 000 000".
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect();
    groups.join(" ")
}

fn left(cell: &str, width: usize) -> String {
    format!("{cell:<width$}")
}

fn right(cell: &str, width: usize) -> String {
    format!("{cell:>width$}")
}
