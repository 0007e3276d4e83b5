//! The command line. Parsing, help, manual and completions come from this one definition.

mod completion;
mod everywhere;
mod help;
mod other_words;
pub mod places;
mod refusal;
mod run;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::exit;
use std::sync::LazyLock;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, Parser, Subcommand};

use crate::command::Verb;
use crate::control::client::{Endpoint, TIMEOUT};
use crate::control::wire;
use crate::exit::Exit;
use crate::fetch;
use crate::kernel::broker::process;
use crate::text::printable;
pub use completion::Shell;
pub use everywhere::{GlobalOptions, WithGlobals};
use run::RunArguments;
pub use run::{ConfigFile, Log, LogFormat, Run, interface_name, user_or_own};

/// The task of this process.
#[derive(Debug)]
pub enum Invocation {
    /// Run the daemon.
    Run(Run),
    /// Carry out a command, most of which ask the daemon.
    Client(ClientInvocation),
    /// Remove the filter that a daemon left in the kernel.
    Detach(Detach),
    /// Print the completion script of a shell.
    Completions(Shell),
    /// Run the broker, which holds the kernel objects for a daemon.
    Keep {
        /// The directory of pins of that daemon.
        pin_dir: PathBuf,
        /// The settings of the daemon's log.
        log: Log,
    },
    /// Run the process that starts fetches for a daemon.
    StartFetches {
        /// The user to become, if started by root.
        user: Option<String>,
        /// The configuration that names the permitted fetches.
        named_by: Option<PathBuf>,
        /// The settings of the daemon's log.
        log: Log,
    },
    /// Fetch one list and exit.
    Fetch {
        /// The id of the process that started this one.
        spawner: u32,
    },
}

/// The arguments of `detach`.
#[derive(Debug)]
pub struct Detach {
    /// The control socket of the daemon.
    pub socket: PathBuf,
    /// The directory of its pins, if it was named.
    pub pin_dir: Option<PathBuf>,
    /// Print JSON instead of text?
    pub json: bool,
    /// Print nothing but errors?
    pub quiet: bool,
}

/// A command and its global options.
#[derive(Debug)]
pub struct ClientInvocation {
    /// The daemon to ask.
    pub endpoint: Endpoint,
    /// Print JSON instead of text?
    pub json: bool,
    /// Print nothing but errors?
    pub quiet: bool,
    /// The command itself.
    pub verb: Verb,
}

/// Drop packets from listed IP addresses before the Linux network stack sees them
#[derive(Debug, Parser)]
#[command(name = "filterd", version, long_version = LONG_VERSION.as_str())]
#[command(override_usage = USAGE, disable_help_subcommand = true)]
struct Arguments {
    #[command(flatten)]
    everywhere: GlobalOptions,
    #[command(flatten)]
    run: RunArguments,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
enum Command {
    /// Run filterd in the foreground
    Run(WithGlobals<RunArguments>),
    /// Remove the filter that a stopped filterd left in the kernel
    Detach(WithGlobals<DetachArguments>),
    /// Print help for filterd or a command
    Help(HelpArguments),
    /// Print the completion script of a shell
    Completions(CompletionsArguments),
    #[command(name = process::VERB, hide = true)]
    Keep {
        #[arg(value_parser = OsStringValueParser::new().try_map(places::pins))]
        pin_dir: PathBuf,
    },
    #[command(name = fetch::SPAWNER, hide = true)]
    StartFetches {
        user: Option<String>,
        #[arg(long)]
        named_by: Option<PathBuf>,
    },
    #[command(name = fetch::CHILD, hide = true)]
    Fetch { spawner: u32 },
    #[command(flatten)]
    Verb(Verb),
}

#[derive(Debug, Args)]
struct DetachArguments {
    /// Directory of pins [default: that of the last filterd at this socket, else /sys/fs/bpf/filterd]
    #[arg(long, value_name = "DIR", value_parser = OsStringValueParser::new().try_map(places::pins))]
    pin_dir: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct HelpArguments {
    /// Command to explain [default: filterd itself]
    #[arg(value_name = "COMMAND", num_args = 0..=2)]
    command: Vec<String>,
}

#[derive(Debug, Args)]
struct CompletionsArguments {
    /// bash, zsh or fish
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

impl Command {
    fn everywhere(&self) -> [Option<&GlobalOptions>; 2] {
        match self {
            Self::Run(WithGlobals { everywhere, .. }) | Self::Detach(WithGlobals { everywhere, .. }) => {
                [Some(everywhere), None]
            }
            Self::Verb(verb) => verb.everywhere(),
            Self::Help(_)
            | Self::Completions(_)
            | Self::Keep { .. }
            | Self::StartFetches { .. }
            | Self::Fetch { .. } => [None, None],
        }
    }
}

const USAGE: &str =
    "filterd [run] [--iface <IF>]... [--config <FILE>] [OPTIONS]\n       filterd <COMMAND> [OPTIONS]";

const WHAT_TO_TYPE: &str = "\
filterd drops packets from listed addresses before the network stack sees them.

  sudo filterd --iface eth0       filter eth0, in the foreground
  sudo filterd add 203.0.113.7    block an address, while that runs
  sudo filterd test 203.0.113.7   is it dropped, and why?
  sudo filterd status             what filterd does now

`filterd --help` shows all commands.";

/// How to begin. With a configuration the first step is done already.
fn what_to_type(usual: &Path) -> String {
    if !usual.exists() {
        return WHAT_TO_TYPE.to_owned();
    }
    let path = printable::path(usual);
    format!("{WHAT_TO_TYPE}\nThere is a configuration, {path}: `sudo filterd run` starts filterd with it.")
}

static LONG_VERSION: LazyLock<String> = LazyLock::new(|| {
    let version = env!("CARGO_PKG_VERSION");
    let licence = env!("CARGO_PKG_LICENSE");
    format!("{version}\ncontrol protocol {}\nlicence {licence}", wire::VERSION)
});

/// Reads the command line of this process. If it is not valid, this prints why and exits.
pub fn parse() -> Invocation {
    completion::answer(Arguments::command);
    if std::env::args_os().len() <= 1 {
        eprintln!("{}", what_to_type(Path::new(places::CONFIG)));
        exit(Exit::Usage as i32);
    }
    let socket = std::env::var_os("FILTERD_SOCKET").filter(|path| !path.is_empty());
    let words = || std::env::args_os();
    read(words(), socket)
        .unwrap_or_else(|error| refusal::exit_with(&error, words().any(|word| word == "--json")))
}

/// Reads a command line. Without --socket, the daemon is at `socket`.
fn read(
    words: impl IntoIterator<Item = OsString>,
    socket: Option<OsString>,
) -> Result<Invocation, clap::Error> {
    let Arguments { everywhere, run, command } = parsed(words)?;
    let behind = command.as_ref().map(Command::everywhere).into_iter().flatten();
    let GlobalOptions { json, quiet, socket: named, timeout } = behind.fold(everywhere, GlobalOptions::and);
    let socket = named.or(socket.map(PathBuf::from)).unwrap_or_else(|| places::SOCKET.into());
    let wrong = |message: String| Arguments::command().error(ErrorKind::ValueValidation, message);
    places::check_socket(&socket).map_err(wrong)?;
    let timeout = Some(timeout.unwrap_or(TIMEOUT)).filter(|timeout| !timeout.is_zero());
    let endpoint = Endpoint { socket, timeout };
    let run = match command {
        Some(Command::Verb(verb)) => {
            run.must_be_empty().map_err(wrong)?;
            return Ok(Invocation::Client(ClientInvocation { endpoint, json, quiet, verb }));
        }
        Some(Command::Detach(WithGlobals { own: DetachArguments { pin_dir }, .. })) => {
            run.must_be_empty().map_err(wrong)?;
            return Ok(Invocation::Detach(Detach { socket: endpoint.socket, pin_dir, json, quiet }));
        }
        Some(Command::Help(HelpArguments { command })) => return Err(help_of(command)),
        Some(Command::Completions(CompletionsArguments { shell })) => {
            return Ok(Invocation::Completions(shell));
        }
        Some(Command::Keep { pin_dir }) => {
            return Ok(Invocation::Keep { pin_dir, log: run.log(quiet, false) });
        }
        Some(Command::StartFetches { user, named_by }) => {
            return Ok(Invocation::StartFetches { user, named_by, log: run.log(quiet, false) });
        }
        Some(Command::Fetch { spawner }) => return Ok(Invocation::Fetch { spawner }),
        Some(Command::Run(further)) => run.and(further.own),
        None => run,
    };
    run.checked(endpoint, quiet, json).map(Invocation::Run).map_err(wrong)
}

/// Parses the words. For a command of another program, the error names ours.
fn parsed(words: impl IntoIterator<Item = OsString>) -> Result<Arguments, clap::Error> {
    let words: Vec<OsString> = words.into_iter().collect();
    let is_behind_allow = words.iter().any(|word| word == "allow");
    Arguments::try_parse_from(words.clone()).map_err(|error| {
        let is_help = [ErrorKind::DisplayHelp, ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand];
        if is_help.contains(&error.kind()) {
            let tree = help::with_pages(Arguments::command());
            return tree.try_get_matches_from(words).err().unwrap_or(error);
        }
        let word = match error.get(ContextKind::InvalidSubcommand) {
            Some(ContextValue::String(word)) if is_behind_allow => other_words::instead_of_behind_allow(word),
            Some(ContextValue::String(word)) => {
                let tree = Arguments::command();
                let commands: Vec<_> = tree.get_subcommands().map(clap::Command::get_name).collect();
                other_words::instead_of(word, &commands)
            }
            _ => None,
        };
        word.map_or(error, |ours| clap::Error::raw(ErrorKind::InvalidSubcommand, format!("{ours}\n")))
    })
}

/// The commands that are not hidden.
fn verbs() -> Vec<String> {
    let tree = Arguments::command();
    let shown = tree.get_subcommands().filter(|verb| !verb.is_hide_set());
    shown.map(|verb| verb.get_name().to_owned()).collect()
}

/// The help of a command, which clap returns as an error.
fn help_of(command: Vec<String>) -> clap::Error {
    let words = ["filterd".to_owned()].into_iter().chain(command).chain(["--help".to_owned()]);
    parsed(words.map(OsString::from)).expect_err("--help has no other result")
}

#[cfg(test)]
mod manual;
#[cfg(test)]
mod tests;
