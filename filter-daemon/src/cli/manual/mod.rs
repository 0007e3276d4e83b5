//! The manual, docs/man. Pages of commands come from what `--help` comes from and from `pages/`, filterd.yaml(5) from the
//! reference of the configuration. `cargo xtask manual` writes it, and configs/completions. Tests compare both.

mod command;
mod configuration;
mod pages;
mod text;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory};

use super::help::{HelpPage, own_options, shown_subcommands};
use super::{Arguments, Shell, help};
use pages::Text;

/// The variable with which `cargo xtask manual` has files written.
const WRITE: &str = "FILTERD_MANUAL";

/// When a page was last read as a whole. mandoc wants a date.
const DATE: &str = "2026-11-29";

/// The left part of the footer of each page.
const SOURCE: &str = "filterd";

/// The middle of the header of each page.
const MANUAL: &str = "filterd's manual";

#[test]
fn the_committed_manual_is_the_generated_one() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/man");
    let pages = pages();
    if std::env::var(WRITE).is_ok_and(|word| word == "write") {
        write(&directory, &pages);
    }
    let there: BTreeSet<_> = files(&directory).iter().map(|path| name(path)).collect();
    let wanted: BTreeSet<_> = pages.keys().cloned().collect();
    let odd: Vec<_> = there.symmetric_difference(&wanted).collect();
    assert!(odd.is_empty(), "{odd:?} are missing in docs/man, or too many: `cargo xtask manual` writes them");
    for (name, page) in &pages {
        let found = fs::read_to_string(directory.join(name)).unwrap();
        assert!(found == *page, "docs/man/{name} is out of date: `cargo xtask manual` writes it");
    }
}

/// Packages bring them, so that no build has to run a program of another architecture.
#[test]
fn the_committed_completions_are_the_printed_ones() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../configs/completions");
    for (shell, name) in
        [(Shell::Bash, "filterd.bash"), (Shell::Zsh, "_filterd"), (Shell::Fish, "filterd.fish")]
    {
        let mut printed = Vec::new();
        shell.write(&mut printed).unwrap();
        let file = directory.join(name);
        if std::env::var(WRITE).is_ok_and(|word| word == "write") {
            fs::write(&file, &printed).unwrap();
        }
        let found = fs::read(&file).unwrap_or_default();
        assert!(found == printed, "{name} is out of date: `cargo xtask manual` writes it");
    }
}

#[test]
fn every_page_names_all_options_of_its_command() {
    let pages = pages();
    each(&tree(), "", &mut |command, page| {
        for option in own_options(command).filter_map(|option| option.get_long()) {
            // Those of the daemon are on the page of `run`.
            let page = if page.is_whole() { "filterd-run".to_owned() } else { page.manual() };
            let flag = format!("\\-\\-{}", option.replace('-', "\\-"));
            assert!(pages[&format!("{page}.8")].contains(&flag), "{page}: {flag}");
        }
    });
    for option in ["json", "quiet", "socket", "timeout", "help", "version"] {
        assert!(pages["filterd.8"].contains(&format!("\\-\\-{option}")), "{option}");
    }
    assert!(pages["filterd.8"].contains("filterd\\-add\\fR(8)"));
}

#[test]
fn every_synopsis_shows_the_values_of_options() {
    let pages = pages();
    each(&tree(), "", &mut |command, page| {
        let manual = &pages[&format!("{}.8", page.manual())];
        let synopsis = manual.split(".SH ").find(|section| section.starts_with("\"SYNOPSIS")).unwrap();
        let takes_value = own_options(command).filter(|option| option.get_action().takes_values());
        for flag in takes_value.filter_map(|option| option.get_long()).filter(|_| !page.is_whole()) {
            let flag = format!("\\-\\-{}\\fR", flag.replace('-', "\\-"));
            let (_, behind) = synopsis.split_once(&flag).unwrap();
            assert!(
                [" \\fI", "[=\\fI"].iter().any(|value| behind.starts_with(value)),
                "{flag} in {synopsis}"
            );
        }
    });
    let ttl = "[\\fB\\-\\-ttl\\fR \\fITIME\\fR]";
    assert!(pages["filterd-add.8"].contains(ttl), "{}", pages["filterd-add.8"]);
}

#[test]
fn texts_explain_only_known_exit_codes() {
    each(&tree(), "", &mut |_, page| {
        let known: Vec<_> = page.exit_codes.iter().map(|(code, _)| *code as u8).collect();
        let told = Text::of(&page.manual()).exit_codes;
        let odd: Vec<_> = told.keys().filter(|code| !known.contains(code)).collect();
        assert!(odd.is_empty(), "{}: {odd:?} are not among the exit codes of its help", page.manual());
    });
}

#[test]
fn every_text_refers_to_pages_that_exist() {
    let pages = pages();
    each(&tree(), "", &mut |_, page| {
        let told = Text::of(&page.manual()).see_also;
        assert!(!told.is_empty(), "{} has no SEE ALSO", page.manual());
        let ours = told.split(", ").filter(|name| name.starts_with("filterd"));
        for name in ours {
            let file = name.trim_end_matches(')').replace('(', ".");
            assert!(pages.contains_key(&file), "{} refers to {name}", page.manual());
            assert_ne!(file, format!("{}.8", page.manual()));
        }
    });
}

/// Every page, by its file.
fn pages() -> BTreeMap<String, String> {
    let mut pages = BTreeMap::from([("filterd.yaml.5".to_owned(), text::sound(&configuration::page()))]);
    each(&tree(), "", &mut |command, page| {
        pages.insert(format!("{}.8", page.manual()), text::sound(&command::page(command, page)));
    });
    pages
}

/// The tree of all commands.
fn tree() -> Command {
    help::with_pages(Arguments::command())
}

/// Does this with each command that is shown, and its page.
fn each(command: &Command, name: &str, with: &mut dyn FnMut(&Command, &HelpPage)) {
    with(command, HelpPage::of(name).unwrap_or_else(|| panic!("`{name}` has no page in cli/help/pages")));
    for verb in shown_subcommands(command) {
        each(verb, format!("{name} {}", verb.get_name()).trim_start(), with);
    }
}

fn write(directory: &Path, pages: &BTreeMap<String, String>) {
    fs::create_dir_all(directory).unwrap();
    files(directory).iter().for_each(|path| fs::remove_file(path).unwrap());
    pages.iter().for_each(|(name, page)| fs::write(directory.join(name), page).unwrap());
}

fn files(directory: &Path) -> Vec<PathBuf> {
    fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect()
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}
