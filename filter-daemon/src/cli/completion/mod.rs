//! Completions for shells: commands and options from the definition, and the present interfaces, lists and entries.
//!
//! `filterd completions SHELL` prints a script. At each tab, the script runs filterd with the variable [`ASKED`].

mod known;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Arg, Command};
use clap_complete::engine::{ArgValueCandidates, ArgValueCompleter, CompletionCandidate};
use clap_complete::env::{Bash, CompleteEnv, EnvCompleter, Fish, Shells, Zsh};

use crate::command::render::console;

/// The variable in which the script names its shell.
const ASKED: &str = "FILTERD_COMPLETE";

/// The script for bash. The one of the library fails with IPv6 addresses, because bash splits words at colons.
const BASH: &str = include_str!("../../../../configs/completions/filterd.bash");

/// At the first tab, zsh runs the file of completions as the body of a function, which has to answer as well.
const ZSH_FIRST: &str = "[[ $funcstack[1] != _filterd ]] || _clap_dynamic_completer_filterd \"$@\"\n";

/// A shell that has completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Shell {
    Bash,
    Zsh,
    Fish,
}

impl Shell {
    /// Prints the script of this shell.
    pub fn tell(self) -> ExitCode {
        console::ended(self.write(&mut io::stdout().lock())).into()
    }

    /// Writes the script to `out`.
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

/// If a script runs this process, answers it and exits.
pub fn answer(tree: impl Fn() -> Command) {
    let shells = Shells(&[&Bash, &Zsh, &Fish]);
    CompleteEnv::with_factory(|| knowing(tree())).var(ASKED).shells(shells).complete();
}

/// Adds completions of values to all commands. It builds them, because arguments are defined only then.
fn knowing(mut tree: Command) -> Command {
    tree.build();
    below(tree, "")
}

fn below(command: Command, path: &str) -> Command {
    let path = format!("{path} {}", command.get_name());
    let command = command.mut_args(|arg| with_values(arg, &path));
    command.mut_subcommands(|verb| below(verb, &path))
}

/// Chooses the completions by the name of the value.
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
        // A name such as auto|native|tc lists all values.
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
