//! Lays out a page for terminals of 80 columns. The lines of examples are never broken.

use clap::builder::StyledStr;
use clap::builder::styling::Style;
use clap::{Arg, Command};

use super::pages::{Example, GROUPS, HelpPage, HelpTable};
use crate::exit::Exit;

/// The width of the widest line.
pub const WIDTH: usize = 80;

/// The heading in clap of options that every command takes.
pub const GLOBAL_HEADING: &str = "Global options";

/// A wider term has a line of its own.
const WIDEST_TERM: usize = 22;

/// A term and its meaning.
pub type Row = (String, String);

/// Sections with bold headings and terms.
struct Layout {
    heading: Style,
    term: Style,
    sections: Vec<String>,
}

/// The help of this command.
pub fn help(command: &Command, page: &HelpPage) -> StyledStr {
    let styles = command.get_styles();
    let mut layout =
        Layout { heading: *styles.get_header(), term: *styles.get_literal(), sections: Vec::new() };
    layout.begin(command, page);
    if page.is_whole() {
        layout.groups(command);
        layout.rows("Global options", &global_rows(command));
    } else {
        layout.rows("Commands", &shown_subcommands(command).map(about).collect::<Vec<_>>());
        layout.rows("", &own_rows(command));
    }
    tables_of(page).for_each(|(title, rows)| layout.rows(title, &rows));
    layout.examples(page.examples);
    layout.exit_codes(page);
    layout.end(page);
    StyledStr::from(layout.sections.join("\n\n") + "\n")
}

impl Layout {
    fn begin(&mut self, command: &Command, page: &HelpPage) {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        let usage = command.clone().render_usage().to_string();
        let usage = usage.strip_prefix("Usage:").unwrap_or(&usage).to_owned();
        self.sections.push(format!("{about}\n\n{}{usage}", self.heading("Usage")));
        self.sections.extend((!page.text.is_empty()).then(|| wrapped(page.text, WIDTH).join("\n")));
    }

    fn groups(&mut self, command: &Command) {
        for group in GROUPS {
            let is_its = |verb: &&Command| group.pages.iter().any(|page| page.name == verb.get_name());
            let mut verbs: Vec<_> = shown_subcommands(command).filter(is_its).collect();
            verbs.sort_by_key(|verb| group.pages.iter().position(|page| page.name == verb.get_name()));
            self.rows(group.title, &verbs.into_iter().map(about).collect::<Vec<_>>());
        }
    }

    fn rows(&mut self, title: &str, rows: &[Row]) {
        if rows.is_empty() {
            return;
        }
        let widths = rows.iter().map(|(term, _)| term.len()).filter(|width| *width <= WIDEST_TERM);
        let column = widths.max().unwrap_or(WIDEST_TERM);
        let title = (!title.is_empty()).then(|| self.heading(title));
        let rows = rows.iter().map(|row| self.row(row, column));
        self.sections.push(title.into_iter().chain(rows).collect::<Vec<_>>().join("\n"));
    }

    fn row(&self, (term, text): &Row, column: usize) -> String {
        let bold = self.term;
        let margin = column + 4;
        let indented = wrapped(text, WIDTH - margin).join(&format!("\n{:margin$}", ""));
        if term.len() <= column {
            let gap = column - term.len() + 2;
            format!("  {bold}{term}{bold:#}{:gap$}{indented}", "")
        } else {
            format!("  {bold}{term}{bold:#}\n{:margin$}{indented}", "")
        }
    }

    fn examples(&mut self, examples: &[Example]) {
        let column = examples.iter().filter(|(_, why)| !why.is_empty()).map(|(line, _)| line.len()).max();
        let line = |(line, why): &Example| match column {
            Some(column) if !why.is_empty() => format!("  {line:column$}  {why}"),
            _ => format!("  {line}"),
        };
        let lines: Vec<_> = examples.iter().map(line).collect();
        if !lines.is_empty() {
            self.sections.push(format!("{}\n{}", self.heading("Examples"), lines.join("\n")));
        }
    }

    fn exit_codes(&mut self, page: &HelpPage) {
        if page.is_whole() {
            let row = |(code, what): &(Exit, &str)| (format!("{}", *code as u8), (*what).to_owned());
            let rows: Vec<_> = page.exit_codes.iter().map(row).chain([super::pages::fault()]).collect();
            return self.rows("Exit codes", &rows);
        }
        let code =
            |(code, what): &(Exit, &str)| format!("{}\u{a0}{}", *code as u8, what.replace(' ', "\u{a0}"));
        let codes = page.exit_codes.iter().map(code).collect::<Vec<_>>().join(", ");
        let lines = wrapped(&format!("Exit codes: {codes}"), WIDTH - 2).join("\n  ").replace('\u{a0}', " ");
        self.sections.push(lines.replacen("Exit codes:", &self.heading("Exit codes"), 1));
    }

    fn end(&mut self, page: &HelpPage) {
        self.sections.push(match page.is_whole() {
            true => {
                "`filterd help COMMAND` explains a command, and so does `man filterd-COMMAND`.".to_owned()
            }
            false => {
                format!("Details: `man {}`. See `filterd --help` for global options.", page.manual())
            }
        });
    }

    fn heading(&self, title: &str) -> String {
        let bold = self.heading;
        format!("{bold}{title}:{bold:#}")
    }
}

/// The commands below this one that are not hidden.
pub fn shown_subcommands(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|verb| !verb.is_hide_set())
}

/// A command's own options and arguments.
pub fn own_options(command: &Command) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(|arg| !arg.is_hide_set() && !is_global(arg))
}

/// A command's own arguments and options with their meaning, arguments first.
pub fn own_rows(command: &Command) -> Vec<Row> {
    let (arguments, options): (Vec<_>, Vec<_>) = own_options(command).partition(|arg| arg.is_positional());
    rows_of(&[arguments, options].concat())
}

/// The options that every command takes.
pub fn global_rows(command: &Command) -> Vec<Row> {
    let mut options: Vec<_> = command.get_arguments().filter(|arg| is_global(arg)).collect();
    options.sort_by_key(|arg| arg.get_help_heading().is_some());
    rows_of(&options)
}

/// The tables of a page, by their titles.
pub fn tables_of(page: &HelpPage) -> impl Iterator<Item = (&'static str, Vec<Row>)> {
    let row = |(term, text): &(&str, &str)| ((*term).to_owned(), (*text).to_owned());
    page.tables.iter().map(move |HelpTable { title, rows }| (*title, rows.iter().map(row).collect()))
}

fn is_global(arg: &Arg) -> bool {
    arg.get_help_heading() == Some(GLOBAL_HEADING) || ["help", "version"].contains(&arg.get_id().as_str())
}

fn rows_of(args: &[&Arg]) -> Vec<Row> {
    let has_short = args.iter().any(|arg| arg.get_short().is_some());
    args.iter().map(|arg| (term(arg, has_short), meaning(arg))).collect()
}

fn term(arg: &Arg, has_short: bool) -> String {
    match arg.get_short() {
        Some(short) => format!("-{short}, {arg}"),
        None if has_short && !arg.is_positional() => format!("    {arg}"),
        None => arg.to_string(),
    }
}

/// The text of an option, which says its default.
fn meaning(arg: &Arg) -> String {
    let text = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let defaults = arg.get_default_values().iter().map(|value| value.to_string_lossy());
    match arg.get_action().takes_values() {
        true => defaults.fold(text, |text, default| format!("{text} [default: {default}]")),
        false => text,
    }
}

fn about(command: &Command) -> Row {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let aliases: Vec<_> = command.get_visible_aliases().collect();
    let aliases =
        if aliases.is_empty() { String::new() } else { format!(" [alias: {}]", aliases.join(", ")) };
    (command.get_name().to_owned(), about + &aliases)
}

/// The text in lines that are no wider.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words(text, width) {
        match lines.last_mut().filter(|line| line.chars().count() + 1 + word.chars().count() <= width) {
            Some(line) => *line += &format!(" {word}"),
            None => lines.push(word),
        }
    }
    lines
}

/// The words of a text. A command in backticks and a default in brackets are one word, if a line has room for it.
fn words(text: &str, width: usize) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for part in text.split(' ') {
        match words.last_mut().filter(|word| is_open(word)) {
            Some(word) => *word += &format!(" {part}"),
            None => words.push(part.to_owned()),
        }
    }
    let split = |word: String| match word.chars().count() <= width {
        true => vec![word],
        false => word.split(' ').map(ToOwned::to_owned).collect(),
    };
    words.into_iter().flat_map(split).collect()
}

fn is_open(word: &str) -> bool {
    let count = |mark: char| word.matches(mark).count();
    count('`') % 2 == 1 || count('[') > count(']')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_defaults_are_not_broken() {
        let text = "Roll back unless `filterd confirm` comes first [default: no trial]";
        let expected = ["Roll back unless", "`filterd confirm`", "comes first", "[default: no trial]"];
        assert_eq!(wrapped(text, 20), expected);
        assert_eq!(wrapped("[default: much too long for it]", 20), ["[default: much too", "long for it]"]);
    }
}
