//! What every page of the help has in common.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{Arg, CommandFactory};

use super::super::{Arguments, parsed, places};
use super::*;
use crate::accounts;
use crate::config::name::{MANUAL_ALLOW_LIST, MANUAL_LIST};
use crate::control::client::TIMEOUT;
use crate::exit::Exit;
use crate::text::quantity;

/// Options that do nothing unless they are given.
const WITHOUT_DEFAULT: [&str; 8] =
    ["note", "pcap", "accept", "confirm", "block", "allow", "skip", "as-config"];

/// What each command exits with. A script may rely on it.
const EXIT_CODES: [(&str, &[u8]); 34] = [
    ("", &[0, 1, 2, 3, 4, 5, 6, 7, 8]),
    ("add", &[0, 1, 2, 4, 5, 6, 7, 8]),
    ("remove", &[0, 1, 2, 4, 5, 6, 7, 8]),
    ("allow", &[2]),
    ("allow add", &[0, 2, 4, 5, 6, 7, 8]),
    ("allow remove", &[0, 1, 2, 4, 5, 6, 7, 8]),
    ("allow list", &[0, 2, 6, 7]),
    ("flush", &[0, 2, 5, 6, 7]),
    ("import", &[0, 2, 5, 6, 7, 8]),
    ("export", &[0, 2, 6, 7]),
    ("pause", &[0, 2, 6, 7, 8]),
    ("resume", &[0, 2, 6, 7, 8]),
    ("test", &[0, 1, 2, 6, 7]),
    ("list", &[0, 2, 6, 7]),
    ("lists", &[0, 2, 6, 7]),
    ("lists refresh", &[0, 2, 5, 6, 7]),
    ("crowdsec", &[2]),
    ("crowdsec status", &[0, 2, 6, 7]),
    ("status", &[0, 2, 6, 7]),
    ("stats", &[0, 2, 6, 7, 8]),
    ("top", &[0, 2, 6, 7]),
    ("watch", &[0, 2, 6, 7, 8]),
    ("ack", &[0, 2, 6, 7]),
    ("check", &[0, 1, 2, 3, 6, 7]),
    ("diff", &[0, 1, 2, 3, 6, 7, 8]),
    ("reload", &[0, 2, 3, 5, 6, 7, 8]),
    ("confirm", &[0, 1, 2, 6, 7]),
    ("rollback", &[0, 1, 2, 3, 6, 7, 8]),
    ("run", &[0, 2, 3, 6, 8]),
    ("detach", &[0, 2, 5, 6, 7, 8]),
    ("doctor", &[0, 2, 7]),
    ("ping", &[0, 2, 6, 7]),
    ("completions", &[0, 2, 7]),
    ("help", &[0, 2, 7]),
];

/// Every command that is shown, by its words.
fn commands() -> BTreeMap<String, Command> {
    fn add(command: &Command, name: &str, all: &mut BTreeMap<String, Command>) {
        all.insert(name.to_owned(), command.clone());
        for verb in shown_subcommands(command) {
            add(verb, format!("{name} {}", verb.get_name()).trim_start(), all);
        }
    }
    let mut all = BTreeMap::new();
    add(&with_pages(Arguments::command()), "", &mut all);
    all
}

fn pages() -> impl Iterator<Item = &'static HelpPage> {
    GROUPS.into_iter().flat_map(|group| group.pages)
}

/// What `--help` prints for the command of these words.
fn printed(name: &str) -> String {
    let words = ["filterd"].into_iter().chain(name.split_whitespace()).chain(["--help"]);
    parsed(words.map(OsString::from)).expect_err("it is help").to_string()
}

fn text(arg: &Arg) -> String {
    arg.get_help().map(ToString::to_string).unwrap_or_default()
}

#[test]
fn every_command_is_in_exactly_one_group() {
    let mut grouped: Vec<_> = pages().map(|page| page.name.to_owned()).collect();
    grouped.sort();
    let known: Vec<_> = commands().into_keys().filter(|name| !name.is_empty()).collect();
    assert_eq!(grouped, known);
    let whole = printed("");
    for (name, command) in commands().iter().filter(|(name, _)| !name.contains(' ') && !name.is_empty()) {
        let about = command.get_about().expect("it says what it does").to_string();
        let rows = whole.lines().filter(|line| line.starts_with(&format!("  {name} ")));
        let rows: Vec<_> = rows.filter(|line| line.contains(&about)).collect();
        assert_eq!(rows.len(), 1, "{name}: {whole}");
    }
}

#[test]
fn no_line_is_wider_than_a_terminal() {
    for name in commands().keys() {
        let help = printed(name);
        let wide: Vec<_> =
            help.lines().filter(|line| line.chars().count() > WIDTH || line.ends_with(' ')).collect();
        assert!(wide.is_empty(), "{name}: {wide:#?}");
    }
}

#[test]
fn every_option_shows_its_default() {
    for (name, command) in commands().iter().filter(|(name, _)| !name.is_empty()) {
        let optional =
            own_options(command).filter(|arg| arg.get_action().takes_values() && !arg.is_required_set());
        for arg in optional.filter(|arg| !WITHOUT_DEFAULT.contains(&arg.get_long().unwrap_or_default())) {
            let row = own_rows(command).into_iter().find(|(term, _)| term.contains(&arg.to_string()));
            let (_, shown) = row.expect("it has a row");
            assert!(shown.ends_with(']') && shown.contains("[default: "), "{name} {arg}: {shown}");
            for default in arg.get_default_values() {
                let default = default.to_str().expect("it is text");
                assert!(shown.ends_with(&format!("[default: {default}]")), "{name} {arg}: {shown}");
            }
        }
    }
}

#[test]
fn shown_defaults_are_those_of_the_code() {
    let commands = commands();
    let default = |name: &str, option: &str| {
        let arg = commands[name].get_arguments().find(|arg| arg.get_long() == Some(option)).expect(option);
        let text = text(arg);
        text.split_once("[default: ").expect(&text).1.trim_end_matches(']').to_owned()
    };
    assert_eq!(default("add", "list"), MANUAL_LIST);
    assert_eq!(default("allow add", "list"), MANUAL_ALLOW_LIST);
    assert!(default("import", "list").ends_with(&format!("else {MANUAL_LIST}")));
    assert_eq!(quantity::duration(&default("", "timeout")), Ok(TIMEOUT));
    assert!(TIMEOUT > Duration::ZERO);
    assert!(default("", "socket").ends_with(places::SOCKET));
    for (command, option, place) in [
        ("run", "state-dir", places::STATE),
        ("doctor", "state-dir", places::STATE),
        ("run", "pin-dir", places::PINS),
        ("doctor", "pin-dir", places::PINS),
        ("detach", "pin-dir", places::PINS),
        ("run", "config", places::CONFIG),
        ("doctor", "config", places::CONFIG),
    ] {
        assert!(default(command, option).contains(place), "{command} --{option}");
    }
    assert!(default("run", "user").ends_with(&format!("user {}", accounts::UNLISTED)));
    assert!(default("run", "user").contains(accounts::OWN));
}

#[test]
fn every_command_names_its_exit_codes() {
    let codes: BTreeMap<_, _> = EXIT_CODES.into_iter().collect();
    assert_eq!(codes.len(), EXIT_CODES.len());
    for name in commands().keys() {
        let page = HelpPage::of(name).expect("it has a page");
        let known: Vec<u8> = page.exit_codes.iter().map(|(code, _)| *code as u8).collect();
        assert_eq!(known, codes[name.as_str()], "{name}");
        let help = printed(name);
        let (_, told) = help.split_once("Exit codes:").expect(&help);
        let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
        for (code, what) in page.exit_codes {
            assert!(told.contains(&format!("{} {what}", *code as u8)), "{name}: {code:?} in {told}");
        }
    }
}

#[test]
fn examples_are_commands_and_keep_their_lines() {
    for name in commands().keys() {
        let (help, page) = (printed(name), HelpPage::of(name).expect("it has a page"));
        assert!(!page.examples.is_empty(), "{name}");
        for (line, why) in page.examples {
            let is_it = |shown: &&str| shown.starts_with(&format!("  {line}")) && shown.ends_with(why);
            let shown = help.lines().find(is_it);
            let shown = shown.unwrap_or_else(|| panic!("{name}: `{line}` is broken in {help}"));
            assert!(
                shown.len() <= WIDTH - 5,
                "{name}: the manual, which indents by 7, is too narrow for {shown}"
            );
            assert!(!why.contains('`'), "{name}: {why} would show its backticks in the manual");
            for command in line.split(['|', '>', '<', ';']).flat_map(|part| part.split("&&")).map(str::trim) {
                let command = command.strip_prefix("sudo ").unwrap_or(command).replace('\'', "");
                assert!(!command.starts_with("filterd ") || is_accepted(&command), "{name}: `{command}`");
            }
        }
    }
}

/// Does clap know all words of it? Words in quotes may be more than one here.
fn is_accepted(command: &str) -> bool {
    let Err(error) = parsed(command.split_whitespace().map(OsString::from)) else { return true };
    let is_fault = [
        ErrorKind::UnknownArgument,
        ErrorKind::InvalidSubcommand,
        ErrorKind::ArgumentConflict,
        ErrorKind::MissingRequiredArgument,
    ];
    !is_fault.contains(&error.kind())
}

#[test]
fn global_options_are_explained_once() {
    for name in commands().keys() {
        let help = printed(name);
        let told = ["--json ", "--quiet ", "--socket <PATH>", "--timeout <TIME>"];
        let is_row = |line: &&str| line.trim_start().starts_with('-');
        let rows = help.lines().filter(is_row).filter(|line| told.iter().any(|option| line.contains(option)));
        assert_eq!(rows.count(), if name.is_empty() { 4 } else { 0 }, "{name}: {help}");
        let end = "See `filterd --help` for global options.\n";
        assert_eq!(help.ends_with(end), !name.is_empty(), "{name}: {help}");
    }
}

#[test]
fn texts_are_plain() {
    for (name, command) in commands() {
        let about = command.get_about().expect("it says what it does").to_string();
        assert!(about.starts_with(char::is_uppercase) && !about.ends_with('.'), "{name}: {about}");
        assert_eq!(printed(&name).matches(';').count(), 0, "{name} has a semicolon");
        for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
            let text = text(arg);
            assert!(!text.is_empty() && !text.ends_with('.'), "{name} {arg}: {text}");
        }
    }
}

#[test]
fn the_table_of_exit_codes_is_complete() {
    let all = [
        Exit::Done,
        Exit::No,
        Exit::Usage,
        Exit::Config,
        Exit::Unchanged,
        Exit::Refused,
        Exit::Unreachable,
        Exit::Partly,
        Exit::Kernel,
    ];
    let whole = HelpPage::of("").expect("filterd has a page");
    assert_eq!(whole.exit_codes.iter().map(|(code, _)| *code).collect::<Vec<_>>(), all);
    assert!(printed("").contains("\n  101 "));
}
