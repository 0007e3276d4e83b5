//! The manual page of a command: its help, and its text in `pages/`, which tells more.

use clap::{Arg, Command};

use super::pages::{Block, Text};
use super::text;
use crate::cli::help::{
    GROUPS, HelpPage, Row, global_rows, own_options, own_rows, shown_subcommands, tables_of,
};
use crate::exit::Exit;

/// The manual page of this command.
pub fn page(command: &Command, page: &HelpPage) -> String {
    let told = Text::of(&page.manual());
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let mut made = text::head(&page.manual(), "8");
    made +=
        &section("NAME", &format!("{} \\- {}", text::escaped(&page.manual()), text::prose(&small(&about))));
    made += &section("SYNOPSIS", &synopsis(command, page));
    made += &section("DESCRIPTION", &blocks(&told.description));
    if page.is_whole() {
        made += &section("COMMANDS", &groups(command));
        made += &section("GLOBAL OPTIONS", &rows(&global_rows(command)));
    } else {
        made += &section("COMMANDS", &commands(&shown_subcommands(command).collect::<Vec<_>>()));
        made += &section("OPTIONS", &format!("{}{GLOBAL_OPTIONS}", rows(&own_rows(command))));
    }
    for (title, table) in tables_of(page) {
        made += &section(&title.to_uppercase(), &rows(&table));
    }
    for (title, part) in &told.sections {
        made += &section(title, &blocks(part));
    }
    made += &section("EXIT STATUS", &exit_status(page, &told));
    made += &section("EXAMPLES", &examples(page));
    made + &section("SEE ALSO", &text::prose(&told.see_also))
}

const GLOBAL_OPTIONS: &str = ".PP\nfilterd(8) lists the global options, which every command takes.\n";

/// A section with a title, or nothing without content.
fn section(title: &str, content: &str) -> String {
    if content.is_empty() { String::new() } else { format!(".SH \"{title}\"\n{content}") }
}

/// A sentence without its capital letter, as the NAME of a page has it.
fn small(about: &str) -> String {
    let (first, rest) = about.split_at(1);
    first.to_lowercase() + rest
}

fn synopsis(command: &Command, page: &HelpPage) -> String {
    if page.is_whole() {
        let run = "\\fBfilterd\\fR [\\fBrun\\fR] \\fB\\-\\-iface\\fR \\fIIF\\fR... [\\fB\\-\\-config\\fR \\fIFILE\\fR] [\\fIOPTIONS\\fR]";
        return format!("{run}\n.br\n\\fBfilterd\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n");
    }
    let (arguments, options): (Vec<_>, Vec<_>) = own_options(command).partition(|arg| arg.is_positional());
    let words = options.into_iter().map(option).chain(arguments.into_iter().map(argument));
    let verb = shown_subcommands(command).next().map(|_| match command.is_subcommand_required_set() {
        true => "\\fICOMMAND\\fR".to_owned(),
        false => "[\\fICOMMAND\\fR]".to_owned(),
    });
    let name = format!("\\fBfilterd {}\\fR", page.name);
    [name].into_iter().chain(words).chain(verb).collect::<Vec<_>>().join(" ") + "\n"
}

/// An option in the form of the synopsis, with its value.
fn option(arg: &Arg) -> String {
    let long = format!("\\fB{}\\fR", text::escaped(&format!("--{}", arg.get_long().unwrap_or_default())));
    let names = arg.get_short().map(|short| format!("\\fB\\-{short}\\fR|{long}")).unwrap_or(long);
    let repeats = if is_repeatable(arg) { "..." } else { "" };
    format!("[{names}{}]{repeats}", value(arg))
}

fn value(arg: &Arg) -> String {
    if !arg.get_action().takes_values() {
        return String::new();
    }
    let names = arg.get_value_names().unwrap_or_default().iter();
    let values = names.map(|name| format!("\\fI{}\\fR", text::escaped(name))).collect::<Vec<_>>().join(" ");
    let is_optional = arg.get_num_args().is_some_and(|count| count.min_values() == 0);
    if is_optional { format!("[={values}]") } else { format!(" {values}") }
}

fn argument(arg: &Arg) -> String {
    let repeats = if is_repeatable(arg) { "..." } else { "" };
    let name = format!("{}{repeats}", value(arg).trim_start());
    if arg.is_required_set() { name } else { format!("[{name}]") }
}

fn is_repeatable(arg: &Arg) -> bool {
    matches!(arg.get_action(), clap::ArgAction::Append)
}

fn groups(command: &Command) -> String {
    let group = |group: &crate::cli::help::Group| {
        let found = group.pages.iter().filter_map(|page| command.find_subcommand(page.name));
        format!(".SS {}\n{}", group.title, commands(&found.collect::<Vec<_>>()))
    };
    GROUPS.iter().map(group).collect()
}

fn commands(commands: &[&Command]) -> String {
    let row = |command: &&Command| {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        let name = command.get_display_name().unwrap_or_default();
        format!(".TP\n\\fB{}\\fR(8)\n{}", text::escaped(name), text::prose(&about))
    };
    commands.iter().map(row).collect()
}

fn rows(rows: &[Row]) -> String {
    let row = |(term, told): &Row| {
        format!(".TP\n\\fB{}\\fR\n{}", text::escaped(term.trim_start()), text::prose(told))
    };
    rows.iter().map(row).collect()
}

fn blocks(blocks: &[Block]) -> String {
    let block = |block: &Block| match block {
        Block::Prose(told) => format!(".PP\n{}", text::prose(told)),
        Block::Items(items) => {
            items.iter().map(|item| format!(".IP \\(bu 2\n{}", text::prose(item))).collect()
        }
        Block::Terms(terms) => terms
            .iter()
            .map(|(term, told)| format!(".TP\n\\fI{}\\fR\n{}", text::escaped(term), text::prose(told)))
            .collect(),
    };
    blocks.iter().map(block).collect()
}

fn exit_status(page: &HelpPage, told: &Text) -> String {
    let codes = page.exit_codes.iter().map(|(code, brief)| {
        let number = *code as u8;
        let meaning = told.exit_codes.get(&number).cloned().unwrap_or_else(|| meaning(*code, brief, page));
        (number.to_string(), meaning)
    });
    let more = page.is_whole().then(crate::cli::help::fault);
    let codes = rows(&codes.chain(more).collect::<Vec<_>>());
    format!("{codes}.PP\n{}", text::prose(if page.is_whole() { SHARED } else { ALL }))
}

/// The text about exit codes that all commands share.
const SHARED: &str = "The page of each command says what its exit codes mean. Every command exits with 7 if its output cannot \
                      be written, for example because the disk is full. What it was asked for is done all the same. It exits \
                      with 0 if the reader has left, as `head` does.";

const ALL: &str = "filterd(8) has the table of all exit codes.";

/// The meaning of these codes, unless the text of a page says more.
const COMMON: [(Exit, &str); 3] = [
    (Exit::Usage, "The command line was not understood."),
    (Exit::Unreachable, "filterd is not running, does not answer, or does not permit this user."),
    (Exit::Kernel, "The kernel refused."),
];

/// The meaning of a code where the text of the page does not say more.
fn meaning(code: Exit, brief: &str, page: &HelpPage) -> String {
    let common = COMMON.iter().find(|(known, _)| *known == code && !page.is_whole());
    let (first, rest) = brief.split_at(1);
    match common {
        Some((_, told)) => (*told).to_owned(),
        None if brief == "output failed" => "The output could not be written.".to_owned(),
        None => format!("{}{rest}.", first.to_uppercase()),
    }
}

fn examples(page: &HelpPage) -> String {
    let column = page.examples.iter().filter(|(_, why)| !why.is_empty()).map(|(line, _)| line.len()).max();
    let line = |(line, why): &(&str, &str)| match column {
        Some(column) if !why.is_empty() => format!("{line:column$}  {why}"),
        _ => (*line).to_owned(),
    };
    let lines: Vec<_> = page.examples.iter().map(line).collect();
    // Not indented any further: each line fits on a terminal of 80 columns.
    if lines.is_empty() { String::new() } else { text::lines(lines.iter().map(String::as_str)) }
}
