//! The manual, docs/man, made from what `--help` is made from, and filterd.yaml(5) from the reference of the configuration.
//! `cargo xtask manual` writes it anew, and configs/completions with it; a plain run of these tests holds it to the definitions.

mod command;
mod configuration;
mod text;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory};

use super::{Arguments, Shell, flowing};

/// Under which `cargo xtask manual` runs this.
const WRITE: &str = "FILTERD_MANUAL";

/// When a page was last read as a whole; its day is no news to anybody, but a page without one is a fault to mandoc.
const DATE: &str = "2026-11-23";

/// What stands at the foot of each page.
const SOURCE: &str = "filterd";

/// At the head of each.
const MANUAL: &str = "filterd's manual";

#[test]
fn the_manual_says_what_the_definitions_say() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/man");
    let pages = pages();
    if std::env::var(WRITE).is_ok_and(|word| word == "write") {
        write(&directory, &pages);
    }
    let there: BTreeSet<_> = files(&directory).iter().map(|path| name(path)).collect();
    let wanted: BTreeSet<_> = pages.keys().cloned().collect();
    let odd: Vec<_> = there.symmetric_difference(&wanted).collect();
    assert!(
        odd.is_empty(),
        "{odd:?} are missing in docs/man, or too many: `cargo xtask manual` writes it anew"
    );
    for (name, page) in &pages {
        let found = fs::read_to_string(directory.join(name)).unwrap();
        assert!(
            found == *page,
            "docs/man/{name} is not what the definitions say: `cargo xtask manual` writes it anew"
        );
    }
}

/// Packages bring them; they are made here so that nobody has to run a program of another architecture for them.
#[test]
fn the_completions_that_packages_bring_are_those_that_are_printed() {
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
        assert!(found == printed, "{name} is not what is printed: `cargo xtask manual` writes it anew");
    }
}

#[test]
fn every_command_has_a_page_that_tells_all_its_flags() {
    let pages = pages();
    fn each(command: &Command, pages: &BTreeMap<String, String>) {
        let page = &pages[&format!("{}.8", command.get_display_name().unwrap_or("filterd"))];
        for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
            let flag = arg.get_long().map(|long| format!("\\-\\-{}", long.replace('-', "\\-")));
            assert!(
                flag.as_ref().is_none_or(|flag| page.contains(flag)),
                "{:?}: {flag:?}",
                command.get_name()
            );
        }
        command.get_subcommands().filter(|verb| !verb.is_hide_set()).for_each(|verb| each(verb, pages));
    }
    each(&tree(), &pages);
    assert!(pages["filterd.8"].contains("filterd\\-add(8)"));
}

#[test]
fn a_synopsis_says_what_each_option_takes() {
    fn each(command: &Command, pages: &BTreeMap<String, String>) {
        let page = &pages[&format!("{}.8", command.get_display_name().unwrap_or("filterd"))];
        let synopsis = page.split(".SH ").find(|section| section.starts_with("SYNOPSIS")).unwrap();
        let options =
            command.get_arguments().filter(|option| !option.is_positional() && !option.is_hide_set());
        for option in options.filter(|option| option.get_action().takes_values()) {
            let flag = format!("\\-\\-{}\\fR", option.get_long().unwrap().replace('-', "\\-"));
            let (_, behind) = synopsis.split_once(&flag).unwrap();
            assert!(
                [" \\fI", "[=\\fI", "=\\fI"].iter().any(|value| behind.starts_with(value)),
                "{flag} in {synopsis}"
            );
        }
        command.get_subcommands().filter(|verb| !verb.is_hide_set()).for_each(|verb| each(verb, pages));
    }
    let pages = pages();
    // The program itself says in words of its own how it is called.
    tree().get_subcommands().filter(|verb| !verb.is_hide_set()).for_each(|verb| each(verb, &pages));
    let reload = "[\\fB\\-\\-accept\\fR \\fINAME\\fR]";
    assert!(pages["filterd-reload.8"].contains(reload), "{}", pages["filterd-reload.8"]);
}

/// The first row would stand elsewhere than the others.
#[test]
fn rows_below_a_help_have_a_title_before_them() {
    fn each(command: &Command) {
        let below = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let lines: Vec<_> = below.lines().collect();
        for pair in lines.windows(2) {
            let begins_rows = pair[1].starts_with(' ') && !pair[0].starts_with(' ') && !pair[0].is_empty();
            assert!(!begins_rows || pair[0].ends_with(':'), "{}: {pair:?}", command.get_name());
        }
        command.get_subcommands().for_each(each);
    }
    each(&tree());
}

/// Every page, by its file.
fn pages() -> BTreeMap<String, String> {
    let mut pages = BTreeMap::from([("filterd.yaml.5".to_owned(), text::sound(&configuration::page()))]);
    add(&tree(), &mut pages);
    pages
}

/// With everything in it that is put together only when it is asked for.
fn tree() -> Command {
    flowing::paragraphs(Arguments::command())
}

fn add(command: &Command, pages: &mut BTreeMap<String, String>) {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    pages.insert(format!("{name}.8"), text::sound(&command::page(command)));
    command.get_subcommands().filter(|verb| !verb.is_hide_set()).for_each(|verb| add(verb, pages));
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
