//! The page of a command: what clap knows of it as clap_mangen tells it, and what stands below its help where a page has it.

use clap::{Arg, Command};
use clap_mangen::Man;

use super::text;
use crate::cli::places;

/// The page.
pub fn page(command: &Command) -> String {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    let below = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let below: Vec<_> = below.split("\n\n").filter(|part| !part.is_empty()).map(Part::of).collect();
    let man = Man::new(command.clone()).section("8");
    let mut page = text::head(name, "8");
    page += &made(|to| man.render_name_section(to));
    page += &with_values(made(|to| man.render_synopsis_section(to)), command);
    page += &made(|to| man.render_description_section(to));
    page.extend(below.iter().filter_map(Part::described));
    page += &made(|to| man.render_options_section(to));
    if command.get_subcommands().any(|verb| !verb.is_hide_set()) {
        page += &made(|to| man.render_subcommands_section(to)).replacen(".SH Commands", ".SH COMMANDS", 1);
    }
    page.extend(below.iter().filter_map(Part::section));
    let is_whole = name == "filterd";
    if is_whole {
        page += &files();
    }
    page + &see_also(is_whole, name)
}

/// A paragraph below the help.
enum Part {
    /// `Examples:` and lines that stand as they are.
    Titled(String, Vec<String>),
    /// Lines that stand as they are.
    AsItIs(Vec<String>),
    /// `Exit codes: 0 …`.
    Exit(String),
    Prose(String),
}

impl Part {
    fn of(paragraph: &str) -> Self {
        let lines: Vec<String> = paragraph.lines().map(ToOwned::to_owned).collect();
        let is_indented = |line: &String| line.starts_with(' ');
        let is_title = |line: &str| line.ends_with(':') && line.split(' ').count() <= 2;
        match lines.split_first() {
            Some((title, rest)) if is_title(title) && !rest.is_empty() && rest.iter().all(is_indented) => {
                Self::Titled(title.trim_end_matches(':').to_owned(), rest.to_vec())
            }
            _ if lines.iter().all(is_indented) => Self::AsItIs(lines),
            _ => match paragraph.strip_prefix("Exit codes: ") {
                Some(codes) => Self::Exit(codes.to_owned()),
                None => Self::Prose(paragraph.to_owned()),
            },
        }
    }

    /// Among what the page begins with.
    fn described(&self) -> Option<String> {
        match self {
            Self::AsItIs(lines) => Some(example(lines)),
            Self::Prose(said) => {
                let lines: String = said.lines().map(prose_or_example).collect();
                Some(lines)
            }
            Self::Titled(..) | Self::Exit(_) => None,
        }
    }

    /// In a section of its own.
    fn section(&self) -> Option<String> {
        match self {
            Self::Titled(title, lines) => Some(format!(".SH {}\n{}", heading(title), example(lines))),
            Self::Exit(codes) => Some(format!(".SH \"EXIT STATUS\"\n{}", text::prose(codes))),
            Self::AsItIs(_) | Self::Prose(_) => None,
        }
    }
}

fn prose_or_example(line: &str) -> String {
    if line.starts_with(' ') { text::example([line]) } else { format!(".PP\n{}", text::prose(line)) }
}

fn example(lines: &[String]) -> String {
    // How far all of them are indented is the page's affair.
    text::example(lines.iter().map(|line| line.strip_prefix("  ").unwrap_or(line)))
}

fn heading(title: &str) -> String {
    match title {
        "Exit codes" => "\"EXIT STATUS\"".to_owned(),
        other => format!("\"{}\"", other.to_uppercase()),
    }
}

fn files() -> String {
    let files = [
        (places::CONFIG, "the configuration: filterd.yaml(5)"),
        (places::SOCKET, "where the commands talk to the one that runs"),
        (
            places::STATE,
            "what must survive a restart: live entries, good copies of lists and of the configuration",
        ),
        (places::PINS, "programs and maps, which go on filtering where no filterd runs"),
    ];
    let rows = files.map(|(path, what)| format!(".TP\n.I {path}\n{}", text::prose(what)));
    format!(".SH FILES\n{}", rows.concat())
}

fn see_also(is_whole: bool, name: &str) -> String {
    let others = match (is_whole, name.rsplit_once('-')) {
        (false, Some((above, _))) if above != "filterd" => format!("filterd(8), {above}(8), filterd.yaml(5)"),
        (false, _) => "filterd(8), filterd.yaml(5)".to_owned(),
        (true, _) => "filterd.yaml(5), xdp\\-filter(8), nft(8), ipset(8)".to_owned(),
    };
    format!(".SH \"SEE ALSO\"\n{}", others.replace("filterd-", "filterd\\-") + "\n")
}

/// A synopsis with what options take: clap_mangen leaves that out.
fn with_values(synopsis: String, command: &Command) -> String {
    let takes_value = |option: &&Arg| !option.is_positional() && option.get_action().takes_values();
    command.get_arguments().filter(takes_value).fold(synopsis, |synopsis, option| {
        let (Some(long), Some(names)) = (option.get_long(), option.get_value_names()) else {
            return synopsis;
        };
        let flag = format!("\\fB\\-\\-{}\\fR", long.replace('-', "\\-"));
        let values: Vec<_> =
            names.iter().map(|name| format!("\\fI{}\\fR", name.replace('-', "\\-"))).collect();
        let values = values.join(" ");
        let is_optional = option.get_num_args().is_some_and(|count| count.min_values() == 0);
        let value = match (is_optional, option.is_require_equals_set()) {
            (true, true) => format!("[={values}]"),
            (true, false) => format!(" [{values}]"),
            (false, true) => format!("={values}"),
            (false, false) => format!(" {values}"),
        };
        // An option's name may be the beginning of another one's: it ends with its word.
        synopsis.replacen(&flag, &format!("{flag}{value}"), 1)
    })
}

/// What clap_mangen writes, without what it begins every part with.
fn made(write: impl FnOnce(&mut dyn std::io::Write) -> std::io::Result<()>) -> String {
    let mut bytes = Vec::new();
    write(&mut bytes).unwrap();
    let written = String::from_utf8(bytes).unwrap();
    let is_preamble = |line: &&str| line.starts_with(".ie \\n(.g") || line.starts_with(".el .ds Aq");
    let lines: Vec<_> = written
        .lines()
        .filter(|line| !is_preamble(line))
        .map(str::trim_end)
        .filter(|line| !line.is_empty())
        .collect();
    // The preamble says what this stands for.
    text::with_bold(&lines.join("\n").replace("\\*(Aq", "\\(aq"))
}
