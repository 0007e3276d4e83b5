//! The command line as typed: one definition, from which help, man page and completions come.

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
pub use everywhere::{Everywhere, With};
use run::RunArguments;
pub use run::{ConfigFile, Log, LogFormat, Run, interface_name, user_or_own};

/// What filterd was started for.
#[derive(Debug)]
pub enum Invocation {
    /// To be the daemon.
    Run(Run),
    /// To ask the daemon, or to look at its files.
    Client(Client),
    /// To take out of the kernel what a daemon has left there.
    Detach(Detach),
    /// To tell a shell how to complete command lines.
    Completions(Shell),
    /// To hold the kernel for a daemon that has its pins there.
    Keep {
        /// Where.
        pin_dir: PathBuf,
        /// Does another daemon go on there meanwhile?
        beside: bool,
        /// To log as the daemon does.
        log: Log,
    },
    /// To start fetches for a daemon.
    StartFetches {
        /// As whom, if we are root.
        user: Option<String>,
        /// Only those that this configuration names.
        named_by: Option<PathBuf>,
        /// To log as the daemon does.
        log: Log,
    },
    /// To fetch once.
    Fetch {
        /// For the process of this number, which started it.
        spawner: u32,
    },
}

/// What `detach` needs to know.
#[derive(Debug)]
pub struct Detach {
    /// Where a daemon would listen.
    pub socket: PathBuf,
    /// Where its pins are.
    pub pin_dir: PathBuf,
    /// Is that where they usually are, since nobody said otherwise?
    pub is_usual: bool,
    /// Is a program reading?
    pub json: bool,
    /// Is nobody reading?
    pub quiet: bool,
}

/// A command and how it is to be carried out.
#[derive(Debug)]
pub struct Client {
    /// The daemon.
    pub endpoint: Endpoint,
    /// Is a program reading?
    pub json: bool,
    /// Is nobody reading?
    pub quiet: bool,
    /// What to do.
    pub verb: Verb,
}

/// Drop packets from listed IP addresses before the Linux network stack sees them
#[derive(Debug, Parser)]
#[command(name = "filterd", version, long_version = LONG_VERSION.as_str())]
#[command(override_usage = USAGE, disable_help_subcommand = true)]
struct Arguments {
    #[command(flatten)]
    everywhere: Everywhere,
    #[command(flatten)]
    run: RunArguments,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
enum Command {
    /// Run filterd in the foreground
    Run(With<RunArguments>),
    /// Remove the filter that a stopped filterd left in the kernel
    Detach(With<DetachArguments>),
    /// Print help for filterd or a command
    Help(HelpArguments),
    /// Print the completion script of a shell
    Completions(CompletionsArguments),
    #[command(name = process::VERB, hide = true)]
    Keep {
        #[arg(value_parser = OsStringValueParser::new().try_map(places::pins))]
        pin_dir: PathBuf,
        #[arg(long)]
        beside: bool,
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
    /// Directory of pins [default: /sys/fs/bpf/filterd]
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
    fn everywhere(&self) -> [Option<&Everywhere>; 2] {
        match self {
            Self::Run(With { everywhere, .. }) | Self::Detach(With { everywhere, .. }) => {
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
    "filterd [run] --iface <IF>... [--config <FILE>] [OPTIONS]\n       filterd <COMMAND> [OPTIONS]";

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

/// Reads the command line of this process. What is wrong with it is told, and the process ends.
pub fn parse() -> Invocation {
    completion::answer(Arguments::command);
    if std::env::args_os().len() <= 1 {
        eprintln!("{}", what_to_type(Path::new(places::CONFIG)));
        exit(Exit::Usage as i32);
    }
    let socket = std::env::var_os("FILTERD_SOCKET").filter(|path| !path.is_empty());
    let words = || std::env::args_os();
    read(words(), socket).unwrap_or_else(|error| refusal::tell(&error, words().any(|word| word == "--json")))
}

/// Reads a command line; `socket` is where the daemon listens unless the line says otherwise.
fn read(
    words: impl IntoIterator<Item = OsString>,
    socket: Option<OsString>,
) -> Result<Invocation, clap::Error> {
    let Arguments { everywhere, run, command } = parsed(words)?;
    let behind = command.as_ref().map(Command::everywhere).into_iter().flatten();
    let Everywhere { json, quiet, socket: said, timeout } = behind.fold(everywhere, Everywhere::and);
    let socket = said.or(socket.map(PathBuf::from)).unwrap_or_else(|| places::SOCKET.into());
    let wrong = |message: String| Arguments::command().error(ErrorKind::ValueValidation, message);
    places::check_socket(&socket).map_err(wrong)?;
    let timeout = Some(timeout.unwrap_or(TIMEOUT)).filter(|timeout| !timeout.is_zero());
    let endpoint = Endpoint { socket, timeout };
    let run = match command {
        Some(Command::Verb(verb)) => {
            run.must_be_empty().map_err(wrong)?;
            return Ok(Invocation::Client(Client { endpoint, json, quiet, verb }));
        }
        Some(Command::Detach(With { own: DetachArguments { pin_dir }, .. })) => {
            run.must_be_empty().map_err(wrong)?;
            let is_usual = pin_dir.is_none();
            let pin_dir = pin_dir.unwrap_or_else(|| places::PINS.into());
            let socket = endpoint.socket;
            return Ok(Invocation::Detach(Detach { socket, pin_dir, is_usual, json, quiet }));
        }
        Some(Command::Help(HelpArguments { command })) => return Err(help_of(command)),
        Some(Command::Completions(CompletionsArguments { shell })) => {
            return Ok(Invocation::Completions(shell));
        }
        Some(Command::Keep { pin_dir, beside }) => {
            return Ok(Invocation::Keep { pin_dir, beside, log: run.log(quiet, false) });
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

/// Reads the words, and tells whoever remembers another program's what ours are.
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
