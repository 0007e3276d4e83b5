//! Prints why a command line is not valid, as text or as JSON. It also prints help and version, which clap returns as errors.

use std::process::exit;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use serde::Serialize;

use crate::command::render::console;
use crate::control::wire::Failure;
use crate::exit::Exit;
use crate::text::{Explanation, printable};

/// The answer to `--version --json`.
#[derive(Serialize)]
struct Version {
    filterd: &'static str,
    licence: &'static str,
}

/// Prints the error and exits.
pub fn exit_with(error: &clap::Error, json: bool) -> ! {
    if json && error.kind() == ErrorKind::DisplayVersion {
        let version = Version { filterd: env!("CARGO_PKG_VERSION"), licence: env!("CARGO_PKG_LICENSE") };
        exit(console::ended(console::write_json(&version)) as i32);
    }
    if !error.use_stderr() {
        exit(console::ended(error.print()) as i32);
    }
    let message = message(error);
    if json {
        console::print_json(&Failure::InvalidRequest(explained(&message)));
    } else {
        // The message quotes what was typed, which may contain control characters.
        eprint!("{}", printable::lines(&message));
    }
    exit(Exit::Usage as i32)
}

/// The message of clap, or a better one. For an unknown command, clap prints the usage of the daemon and distant suggestions.
/// For an unknown option, it suggests to pass the option as a target.
fn message(error: &clap::Error) -> String {
    if let (ErrorKind::InvalidSubcommand, Some(ContextValue::String(word))) =
        (error.kind(), error.get(ContextKind::InvalidSubcommand))
    {
        return no_command(word, error.get(ContextKind::SuggestedSubcommand));
    }
    let message = shortened(error);
    let is_wrong_tip = |line: &str| line.trim_start().starts_with("tip: to pass '-");
    if !message.lines().any(is_wrong_tip) {
        return message;
    }
    let lines: Vec<_> = message.lines().filter(|line| !is_wrong_tip(line)).collect();
    lines.join("\n").replace("\n\n\n", "\n\n") + "\n"
}

/// The message of clap, in which long words are shortened.
fn shortened(error: &clap::Error) -> String {
    let mut message = error.to_string();
    for (_, value) in error.context() {
        if let ContextValue::String(word) = value
            && !word.is_empty()
        {
            message = message.replace(word, &printable::excerpt(word));
        }
    }
    message
}

fn no_command(word: &str, suggested: Option<&ContextValue>) -> String {
    let suggested = match suggested {
        Some(ContextValue::Strings(names)) => names.as_slice(),
        Some(ContextValue::String(name)) => std::slice::from_ref(name),
        _ => &[],
    };
    // The first letter of a mistyped word is usually right.
    let is_near = |name: &&String| name.chars().next() == word.chars().next();
    let near: Vec<_> = suggested.iter().filter(is_near).map(|name| format!("`filterd {name}`")).collect();
    let meant =
        if near.is_empty() { String::new() } else { format!(": did you mean {}?", near.join(" or ")) };
    format!(
        "error: there is no command {}{meant}\n\n`filterd help` shows all commands\n",
        printable::word(word)
    )
}

/// The message of clap as message and remedy, for JSON.
fn explained(message: &str) -> Explanation {
    let message = message.strip_prefix("error: ").unwrap_or(message);
    let lines: Vec<_> = message.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
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
    fn unknown_command_names_similar_commands() {
        let first_line = |word: &str, suggested: &[&str]| {
            let names = suggested.iter().map(|name| (*name).to_owned()).collect();
            no_command(word, Some(&ContextValue::Strings(names))).lines().next().unwrap().to_owned()
        };
        assert_eq!(
            first_line("lst", &["test", "list"]),
            "error: there is no command `lst`: did you mean `filterd list`?"
        );
        assert!(first_line("statsu", &["status", "stats"]).ends_with("`filterd status` or `filterd stats`?"));
        assert_eq!(first_line("frob", &[]), "error: there is no command `frob`");
    }

    #[test]
    fn long_words_are_shortened_in_errors() {
        let long = "x".repeat(5_000);
        let refuse = |word: &str| Err::<String, _>(format!("{}: too long", printable::word(word)));
        let list = Arg::new("list").long("list").value_parser(refuse);
        let tree = Command::new("filterd").arg(list);
        for words in [&["filterd", "--list", &long][..], &["filterd", &format!("--{long}")]] {
            let message = message(&tree.clone().try_get_matches_from(words).expect_err("it is none"));
            assert!(message.contains('…') && message.len() < 400, "{message}");
        }
        assert!(no_command(&long, None).len() < 200);
    }

    #[test]
    fn json_errors_have_no_layout() {
        let message = "error: invalid value '2x' for '--ttl <TIME>': write seconds\n\n  tip: a\n\nUsage: x\n\nFor more information, try '--help'.\n";
        let explained = explained(message);
        assert_eq!(explained.message, "invalid value '2x' for '--ttl <TIME>': write seconds\ntip: a");
        assert!(explained.remedy.is_some_and(|remedy| !remedy.contains("Usage")));
    }
}
