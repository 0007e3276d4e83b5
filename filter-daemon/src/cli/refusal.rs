//! A command line that was not understood, told to people or to programs; and help, which is no fault.

use std::process::exit;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use serde::Serialize;

use crate::command::render::console;
use crate::control::wire::Failure;
use crate::exit::Exit;
use crate::text::{Explanation, printable};

/// What programs are told of this one, beside the version of what they read.
#[derive(Serialize)]
struct Version {
    filterd: &'static str,
    licence: &'static str,
}

/// Tells it, and ends the process.
pub fn tell(error: &clap::Error, json: bool) -> ! {
    if json && error.kind() == ErrorKind::DisplayVersion {
        let version = Version { filterd: env!("CARGO_PKG_VERSION"), licence: env!("CARGO_PKG_LICENSE") };
        exit(console::ended(console::write_json(&version)) as i32);
    }
    if !error.use_stderr() {
        exit(console::ended(error.print()) as i32);
    }
    let told = said(error);
    if json {
        console::print_json(&Failure::InvalidRequest(explained(&told)));
    } else {
        // What was typed may come from anywhere, and is quoted in it.
        eprint!("{}", printable::lines(&told));
    }
    exit(Exit::Usage as i32)
}

/// In our words where clap's are beside the point: a word that is no command gets the daemon's usage and commands that only
/// look like it, and an unknown option the advice to write it as a target, which none is.
fn said(error: &clap::Error) -> String {
    if let (ErrorKind::InvalidSubcommand, Some(ContextValue::String(word))) =
        (error.kind(), error.get(ContextKind::InvalidSubcommand))
    {
        return no_command(word, error.get(ContextKind::SuggestedSubcommand));
    }
    let told = cut(error);
    let is_beside = |line: &str| line.trim_start().starts_with("tip: to pass '-");
    if !told.lines().any(is_beside) {
        return told;
    }
    let lines: Vec<_> = told.lines().filter(|line| !is_beside(line)).collect();
    lines.join("\n").replace("\n\n\n", "\n\n") + "\n"
}

/// What clap tells, without repeating the whole of a long word that was typed.
fn cut(error: &clap::Error) -> String {
    let mut told = error.to_string();
    for (_, value) in error.context() {
        if let ContextValue::String(word) = value
            && !word.is_empty()
        {
            told = told.replace(word, &printable::excerpt(word));
        }
    }
    told
}

fn no_command(word: &str, suggested: Option<&ContextValue>) -> String {
    let suggested = match suggested {
        Some(ContextValue::Strings(names)) => names.as_slice(),
        Some(ContextValue::String(name)) => std::slice::from_ref(name),
        _ => &[],
    };
    // Who mistypes a word begins it as it should be.
    let is_near = |name: &&String| name.chars().next() == word.chars().next();
    let near: Vec<_> = suggested.iter().filter(is_near).map(|name| format!("`filterd {name}`")).collect();
    let meant =
        if near.is_empty() { String::new() } else { format!(": did you mean {}?", near.join(" or ")) };
    format!(
        "error: there is no command {}{meant}\n\n`filterd help` shows all commands\n",
        printable::word(word)
    )
}

/// What clap lays out for people, as message and remedy.
fn explained(told: &str) -> Explanation {
    let told = told.strip_prefix("error: ").unwrap_or(told);
    let lines: Vec<_> = told.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let advice = |line: &&str| {
        ["Usage:", "For more information", "`filterd help`"].iter().any(|begins| line.starts_with(begins))
    };
    let end = lines.iter().position(advice).unwrap_or(lines.len());
    let remedy = "`filterd help` shows all commands, and `filterd help COMMAND` explains one";
    Explanation::new(lines[..end].join("\n"), remedy)
}

#[cfg(test)]
mod tests {
    use clap::{Arg, Command};

    use super::*;

    #[test]
    fn a_word_that_is_no_command_is_told_what_was_probably_meant() {
        let told = |word: &str, suggested: &[&str]| {
            let names = suggested.iter().map(|name| (*name).to_owned()).collect();
            no_command(word, Some(&ContextValue::Strings(names))).lines().next().unwrap().to_owned()
        };
        assert_eq!(
            told("lst", &["test", "list"]),
            "error: there is no command `lst`: did you mean `filterd list`?"
        );
        assert!(told("statsu", &["status", "stats"]).ends_with("`filterd status` or `filterd stats`?"));
        assert_eq!(told("frob", &[]), "error: there is no command `frob`");
    }

    #[test]
    fn a_long_word_that_was_typed_is_not_repeated_whole() {
        let long = "x".repeat(5_000);
        let refuse = |word: &str| Err::<String, _>(format!("{}: too long", printable::word(word)));
        let list = Arg::new("list").long("list").value_parser(refuse);
        let tree = Command::new("filterd").arg(list);
        for words in [&["filterd", "--list", &long][..], &["filterd", &format!("--{long}")]] {
            let told = said(&tree.clone().try_get_matches_from(words).expect_err("it is none"));
            assert!(told.contains('…') && told.len() < 400, "{told}");
        }
        assert!(no_command(&long, None).len() < 200);
    }

    #[test]
    fn a_program_is_told_without_layout() {
        let told = "error: invalid value '2x' for '--ttl <TIME>': write seconds\n\n  tip: a\n\nUsage: x\n\nFor more information, try '--help'.\n";
        let explained = explained(told);
        assert_eq!(explained.message, "invalid value '2x' for '--ttl <TIME>': write seconds\ntip: a");
        assert!(explained.remedy.is_some_and(|remedy| !remedy.contains("Usage")));
    }
}
