//! The pages of benchmarks as text: their tables, and their goals, which move to a page of their own.

/// How a table of goals begins: `tests/measure` makes it.
const GOALS: &str = "| goal | measured | holds |";

/// A table of a page.
#[derive(Debug, PartialEq, Eq)]
pub struct Table {
    pub heads: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

/// One line of a table of goals.
#[derive(Debug, PartialEq, Eq)]
pub struct Goal {
    pub words: String,
    pub measured: String,
    pub holds: bool,
}

/// A page without its goals, and the goals.
#[derive(Debug, PartialEq, Eq)]
pub struct Parts {
    pub page: String,
    /// Empty if the page has none.
    pub goals: String,
}

/// Takes the tables of goals out of a page, and chapters that have nothing else.
pub fn split(page: &str) -> Parts {
    let (mut kept, mut goals) = (String::new(), String::new());
    for chapter in blocks(page, "## ") {
        let (ours, others): (Vec<_>, Vec<_>) =
            blocks(chapter, "### ").into_iter().partition(|part| is_goals(part));
        let is_whole = !ours.is_empty() && others.len() < 2;
        for section in ours {
            let (heading, table) = section.split_once('\n').unwrap_or((section, ""));
            let words = if is_whole { words(chapter) } else { String::new() };
            goals += &format!("{heading}\n\n{words}{}\n\n", table.trim());
        }
        if !is_whole {
            kept += &others.concat();
        }
    }
    Parts { page: kept.trim_end().to_owned() + "\n", goals: goals.trim_end().to_owned() }
}

/// What stands between the heading of a chapter and its first section.
fn words(chapter: &str) -> String {
    let first = blocks(chapter, "### ").first().copied().unwrap_or_default();
    let words = first.split_once('\n').map_or("", |(_, words)| words.trim());
    if words.is_empty() { String::new() } else { format!("{words}\n\n") }
}

fn is_goals(section: &str) -> bool {
    section.starts_with("### ") && section.lines().any(|line| line == GOALS)
}

/// The parts of a text that begin with a heading, and what stands before the first one.
fn blocks<'a>(text: &'a str, heading: &str) -> Vec<&'a str> {
    let mut begins: Vec<_> = text.match_indices(&format!("\n{heading}")).map(|(at, _)| at + 1).collect();
    begins.insert(0, 0);
    begins.push(text.len());
    begins.windows(2).map(|ends| &text[ends[0]..ends[1]]).filter(|block| !block.is_empty()).collect()
}

/// All goals in a text.
pub fn goals(text: &str) -> Vec<Goal> {
    let mut lines = text.lines();
    let mut goals = Vec::new();
    while lines.any(|line| line == GOALS) {
        // The line below the head is a rule.
        goals.extend(lines.by_ref().skip(1).map_while(goal));
    }
    goals
}

fn goal(line: &str) -> Option<Goal> {
    let [words, measured, holds] = <[String; 3]>::try_from(cells(line)?).ok()?;
    Some(Goal { words, measured, holds: holds == "yes" })
}

/// The table below the heading of this title.
pub fn table(page: &str, title: &str) -> Option<Table> {
    let section = page.split_once(&format!("\n### {title}\n"))?.1;
    let mut rows = section.lines().skip_while(|line| line.is_empty()).map_while(cells);
    let heads = rows.next()?;
    Some(Table { heads, rows: rows.skip(1).collect() })
}

fn cells(line: &str) -> Option<Vec<String>> {
    let inside = line.strip_prefix('|')?.strip_suffix('|')?;
    Some(inside.split('|').map(|cell| cell.trim().to_owned()).collect())
}

impl Table {
    /// These columns and rows, in this order. A row or column that the page lacks is left out.
    pub fn part(&self, columns: &[&str], rows: &[&str]) -> Self {
        let at: Vec<_> =
            columns.iter().filter_map(|name| self.heads.iter().position(|head| head == name)).collect();
        let cells = |row: &Vec<String>| at.iter().filter_map(|&at| row.get(at).cloned()).collect::<Vec<_>>();
        let wanted = rows
            .iter()
            .filter_map(|name| self.rows.iter().find(|row| row.first().is_some_and(|cell| cell == name)));
        Self { heads: cells(&self.heads), rows: wanted.map(cells).collect() }
    }

    /// In Markdown.
    pub fn markdown(&self) -> String {
        let rule = (0..self.heads.len()).map(|at| if at == 0 { "---" } else { "---:" }.to_owned()).collect();
        let rows = [&self.heads, &rule].into_iter().chain(&self.rows);
        rows.map(|row| format!("| {} |\n", row.join(" | "))).collect()
    }
}

/// The number that a cell begins with: `1 371 695 (1 160 544…1 571 495)`.
pub fn number(cell: &str) -> Option<f64> {
    let median = cell.split(" (").next().unwrap_or(cell);
    median.replace(' ', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# Live\n\nMeasured.\n\n## Frames\n\nWords.\n\n### Nanoseconds\n\n| filter | ns |\n| --- | ---: |\n| none | 1 (0…2) |\n| filterd | 1 371 (1…2) |\n\n\
        ### Goals of frames\n\n| goal | measured | holds |\n| --- | ---: | ---: |\n| fast ≤ 1 | 0.50 | yes |\n\n\
        ## Goals\n\nOf medians.\n\n### Goals\n\n| goal | measured | holds |\n| --- | ---: | ---: |\n| small ≤ 2 | 3.00 | no |\n\n\n## Method\n\nIn rounds.\n";

    #[test]
    fn goals_leave_their_page() {
        let parts = split(PAGE);
        assert!(!parts.page.contains("goal") && !parts.page.contains("Goals"), "{}", parts.page);
        assert!(parts.page.contains("### Nanoseconds") && parts.page.ends_with("## Method\n\nIn rounds.\n"));
        assert!(parts.goals.starts_with("### Goals of frames\n\n| goal"), "{}", parts.goals);
        assert!(parts.goals.contains("### Goals\n\nOf medians.\n\n| goal"), "{}", parts.goals);
        let holds: Vec<_> = goals(&parts.goals).into_iter().map(|goal| (goal.words, goal.holds)).collect();
        assert_eq!(holds, [("fast ≤ 1".to_owned(), true), ("small ≤ 2".to_owned(), false)]);
        assert_eq!(split(&parts.page), Parts { page: parts.page.clone(), goals: String::new() });
    }

    #[test]
    fn tables_are_found_by_title() {
        let found = table(PAGE, "Nanoseconds").unwrap();
        assert_eq!(found.rows.len(), 2);
        assert_eq!(
            found.part(&["filter", "missing", "ns"], &["filterd", "missing"]).markdown(),
            "| filter | ns |\n| --- | ---: |\n| filterd | 1 371 (1…2) |\n"
        );
        assert_eq!(table(PAGE, "Other"), None);
    }

    #[test]
    fn cells_have_numbers() {
        for (cell, expected) in [
            ("67 (65…69)", Some(67.0)),
            ("1 371 695 (1…2)", Some(1_371_695.0)),
            ("0.279", Some(0.279)),
            ("", None),
        ] {
            assert_eq!(number(cell), expected, "{cell}");
        }
    }
}
