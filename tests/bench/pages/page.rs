//! A page: chapters of words, tables and plots, for a terminal, for a program, and for docs/benchmarks.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use filterd_measure::machine;
use filterd_measure::tables::Table;
use serde_json::{Value, json};

use crate::arguments::Arguments;
use crate::plot::Plot;

/// Everything that one benchmark tells.
#[derive(Debug)]
pub struct Page {
    pub title: String,
    /// How one gets it.
    pub command: String,
    pub machine: String,
    pub method: String,
    pub chapters: Vec<Chapter>,
}

/// One thing that was measured.
#[derive(Debug, Default)]
pub struct Chapter {
    pub title: String,
    /// What was done.
    pub words: String,
    pub tables: Vec<Table>,
    pub plots: Vec<Plot>,
    /// What to think of it: where it differs from what others found, and why.
    pub remark: String,
}

impl Page {
    /// Tells it in the manner that was asked for.
    pub fn tell(&self, arguments: &Arguments) -> Result<()> {
        self.tell_as(arguments.json, arguments.page.as_deref())
    }

    /// Prints it as JSON or as text, and writes it to `page`, too.
    pub fn tell_as(&self, json: bool, page: Option<&Path>) -> Result<()> {
        if let Some(page) = page {
            self.write(page)?;
        }
        if json {
            println!("{:#}", self.json())
        } else {
            print!("{}", self.text())
        }
        Ok(())
    }

    /// For a terminal.
    pub fn text(&self) -> String {
        let chapters: Vec<_> = self.chapters.iter().map(Chapter::text).collect();
        format!("{}\n{}\n\n{}", self.machine, self.method, chapters.join("\n"))
    }

    /// For a program.
    pub fn json(&self) -> Value {
        let tables: Vec<_> =
            self.chapters.iter().flat_map(|chapter| &chapter.tables).map(Table::json).collect();
        json!({"version": 1, "machine": self.machine, "method": self.method, "tables": tables})
    }

    /// Writes it to `page`, results first, and its plots beside it. `cargo xtask bench` moves the goals to a page of their own.
    pub fn write(&self, page: &Path) -> Result<()> {
        let name = page.file_stem().unwrap_or_default().to_string_lossy();
        let mut text = format!(
            "# {}\n\nMeasured on {} on {}.\n\nMade by `{}`; do not edit.\n",
            self.title,
            machine::today()?,
            self.machine,
            self.command
        );
        for chapter in &self.chapters {
            for plot in &chapter.plots {
                plot.draw(&page.with_file_name(plot.file(&name)))?;
            }
            text += &chapter.markdown(&name);
        }
        text += &format!("\n## Method\n\n{}\n", self.method);
        fs::write(page, text).with_context(|| format!("cannot write {}", page.display()))
    }
}

impl Chapter {
    /// What one table tells.
    pub fn of(title: &str, words: &str, table: Table) -> Self {
        Self { title: title.to_owned(), words: words.to_owned(), tables: vec![table], ..Self::default() }
    }

    fn text(&self) -> String {
        let tables: String = self.tables.iter().map(Table::text).collect();
        format!("{}\n{}\n{tables}{}\n", self.title.to_uppercase(), self.words, self.remark)
    }

    fn markdown(&self, page: &str) -> String {
        let tables: String = self.tables.iter().map(|table| format!("{}\n", table.markdown())).collect();
        let plots = self.plots.iter().map(|plot| format!("![{}]({})\n\n", plot.title, plot.file(page)));
        let remark = if self.remark.is_empty() { String::new() } else { format!("{}\n", self.remark) };
        format!("\n## {}\n\n{}\n\n{tables}{}{remark}", self.title, self.words, plots.collect::<String>())
    }
}
