//! What a shell offers behind a word that was begun: verbs and flags out of the one definition, and interfaces, lists and
//! entries as they are at that moment.
//!
//! `filterd completions SHELL` prints what the shell reads once. At each tab that asks filterd again, by [`ASKED`].

mod known;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Arg, Command};
use clap_complete::engine::{ArgValueCandidates, ArgValueCompleter, CompletionCandidate};
use clap_complete::env::{Bash, CompleteEnv, EnvCompleter, Fish, Shells, Zsh};

use crate::command::render::console;

/// A shell that asks says in this which one it is.
const ASKED: &str = "FILTERD_COMPLETE";

/// What bash reads. Not the library's own: bash takes a word apart at colons, of which IPv6 addresses are full.
const BASH: &str = include_str!("../../../../configs/completions/filterd.bash");

/// Zsh reads a file of completions as the body of a function at the first tab: which then is to be answered, too.
const ZSH_FIRST: &str = "[[ $funcstack[1] != _filterd ]] || _clap_dynamic_completer_filterd \"$@\"\n";

/// One that completions are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Shell {
    Bash,
    Zsh,
    Fish,
}

impl Shell {
    /// Prints what it is to read.
    pub fn tell(self) -> ExitCode {
        console::ended(self.write(&mut io::stdout().lock())).into()
    }

    /// The same, to wherever.
    pub fn write(self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Bash => out.write_all(BASH.as_bytes()),
            Self::Zsh => {
                Zsh.write_registration(ASKED, "filterd", "filterd", "filterd", out)?;
                out.write_all(ZSH_FIRST.as_bytes())
            }
            Self::Fish => Fish.write_registration(ASKED, "filterd", "filterd", "filterd", out),
        }
    }
}

/// Answers the shell that asks, and ends the process; does nothing if none does.
pub fn answer(tree: impl Fn() -> Command) {
    let shells = Shells(&[&Bash, &Zsh, &Fish]);
    CompleteEnv::with_factory(|| knowing(tree())).var(ASKED).shells(shells).complete();
}

/// The same tree, whose values are known. The arguments of a command come about when it is built.
fn knowing(mut tree: Command) -> Command {
    tree.build();
    below(tree, "")
}

fn below(command: Command, path: &str) -> Command {
    let path = format!("{path} {}", command.get_name());
    let command = command.mut_args(|arg| with_values(arg, &path));
    command.mut_subcommands(|verb| below(verb, &path))
}

/// By the name of the value, which says what it is.
fn with_values(arg: Arg, path: &str) -> Arg {
    let name = arg.get_value_names().and_then(|names| names.first()).map(ToString::to_string);
    let name = name.unwrap_or_default();
    let is_list = arg.get_long() == Some("list") || path.ends_with(" lists refresh");
    match name.as_str() {
        "IF" => arg.add(ArgValueCandidates::new(|| candidates(known::interfaces()))),
        "NAME" if is_list => arg.add(ArgValueCandidates::new(|| candidates(known::lists()))),
        "TARGET" if path.ends_with(" allow remove") => {
            arg.add(ArgValueCompleter::new(known::Entries::Allowed))
        }
        "TARGET" if [" remove", " test"].iter().any(|verb| path.ends_with(verb)) => {
            arg.add(ArgValueCompleter::new(known::Entries::Blocked))
        }
        "FORMAT" => arg.add(words("plain|ipset|nft|json")),
        "COMMAND" => arg.add(ArgValueCandidates::new(|| candidates(super::verbs()))),
        // Such as auto|native|generic: it says all that there is.
        choice if choice.contains('|') => arg.add(words(choice)),
        _ => arg,
    }
}

fn words(choice: &str) -> ArgValueCandidates {
    let words: Vec<_> = choice.split('|').map(ToOwned::to_owned).collect();
    ArgValueCandidates::new(move || candidates(words.clone()))
}

fn candidates(words: Vec<String>) -> Vec<CompletionCandidate> {
    words.into_iter().map(CompletionCandidate::new).collect()
}

#[cfg(test)]
mod tests;
