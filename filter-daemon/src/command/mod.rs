//! The commands, one file each: the arguments, the request to the daemon, and the output. [`Verb`] and
//! `whichever!` list them here. `ask` sends requests to the daemon, and `render` formats answers.

mod ack;
mod add;
mod allow;
mod ask;
mod check;
mod confirm;
mod diff;
mod doctor;
pub mod exchange;
mod export;
mod flush;
mod import;
mod list;
mod lists;
mod pause;
mod ping;
mod reload;
mod remove;
pub mod render;
mod resume;
mod rollback;
mod stats;
mod status;
mod test;
mod top;
mod watch;

use std::io::{BufWriter, IsTerminal, stderr, stdin, stdout};
use std::process::ExitCode;

use clap::Subcommand;

use crate::cli::{Client, Everywhere, With};
use crate::control::client::Endpoint;
use crate::exit::Exit;
use allow::AllowVerb;
use lists::ListsVerb;
use render::console::{self, Console};
use render::moment::Clock;

/// What can be asked of filterd. The arguments of the one that was typed are in its file; those of the others are never
/// built, which halves what a short command takes.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Verb {
    /// Block addresses, prefixes or ranges
    Add(With<add::Add>),
    /// Unblock what `filterd add` blocked
    #[command(visible_alias = "del")]
    Remove(With<remove::Remove>),
    /// Allow addresses even if they are blocked
    Allow(allow::Allow),
    /// Show whether addresses are dropped, and why
    Test(With<test::Test>),
    /// Show what is blocked
    List(With<list::List>),
    /// Print all entries in force, for an import or another firewall
    Export(With<export::Export>),
    /// Add the entries of a file to live lists
    Import(With<import::Import>),
    /// Remove all entries that commands added
    Flush(With<flush::Flush>),
    /// Show what filterd does now, and what needs attention
    Status(With<status::Status>),
    /// Acknowledge problems that are over
    Ack(With<ack::Ack>),
    /// Show all lists, with their entries, hits, age and problems
    Lists(lists::Lists),
    /// Show how many packets were dropped and passed, and why
    Stats(With<stats::Stats>),
    /// Show drops live, by list, source or reason
    Top(With<top::Top>),
    /// Apply the changed configuration and lists
    Reload(With<reload::Reload>),
    /// Keep a reload that is on trial
    Confirm(With<confirm::Confirm>),
    /// Undo a reload that is on trial
    Rollback(With<rollback::Rollback>),
    /// Show what a reload would change, and which peers it would cut off
    Diff(With<diff::Diff>),
    /// Let all packets pass for a while
    Pause(With<pause::Pause>),
    /// End a pause
    Resume(With<resume::Resume>),
    /// Print changes and drops as they happen
    Watch(With<watch::Watch>),
    /// Check a configuration and its lists, without a daemon
    Check(With<check::Check>),
    /// Check whether this machine can run filterd
    Doctor(With<doctor::Doctor>),
    /// Check whether filterd answers
    Ping(With<ping::Ping>),
}

/// Does the same with the arguments of any verb.
macro_rules! whichever {
    ($verb:expr, $with:pat => $what:expr) => {
        match $verb {
            Verb::Add($with) => $what,
            Verb::Remove($with) => $what,
            Verb::Allow(allow) => match &allow.verb {
                AllowVerb::Add($with) => $what,
                AllowVerb::Remove($with) => $what,
                AllowVerb::List($with) => $what,
            },
            Verb::Test($with) => $what,
            Verb::List($with) => $what,
            Verb::Export($with) => $what,
            Verb::Import($with) => $what,
            Verb::Flush($with) => $what,
            Verb::Status($with) => $what,
            Verb::Ack($with) => $what,
            Verb::Lists(lists) => match (&lists.verb, &lists.show) {
                (None, $with) => $what,
                (Some(ListsVerb::Refresh($with)), _) => $what,
            },
            Verb::Stats($with) => $what,
            Verb::Top($with) => $what,
            Verb::Reload($with) => $what,
            Verb::Confirm($with) => $what,
            Verb::Rollback($with) => $what,
            Verb::Diff($with) => $what,
            Verb::Pause($with) => $what,
            Verb::Resume($with) => $what,
            Verb::Watch($with) => $what,
            Verb::Check($with) => $what,
            Verb::Doctor($with) => $what,
            Verb::Ping($with) => $what,
        }
    };
}

impl Verb {
    /// The values of the global options: those given after the verb, and those between the two words of a
    /// verb. The last one counts most.
    pub fn everywhere(&self) -> [Option<&Everywhere>; 2] {
        let between = if let Verb::Allow(allow) = self {
            Some(&allow.everywhere)
        } else if let Verb::Lists(lists) = self {
            Some(&lists.show.everywhere)
        } else {
            None
        };
        [between, Some(whichever!(self, With { everywhere, .. } => everywhere))]
    }
}

/// Runs a command in this process, on its terminal or pipes.
pub fn execute(client: Client) -> ExitCode {
    let (input, mut err) = (stdin(), stderr());
    let mut console = Console {
        json: client.json,
        quiet: client.quiet,
        input_is_terminal: input.is_terminal(),
        input_length: console::length_of(&input),
        progress: err.is_terminal() && !client.quiet,
        clock: &Clock::system,
        input: &mut input.lock(),
        out: &mut BufWriter::new(stdout().lock()),
        // Locked only while it writes, because the progress bar draws there too.
        err: &mut err,
    };
    apply(&client.verb, &client.endpoint, &mut console).into()
}

fn apply(verb: &Verb, socket: &Endpoint, console: &mut Console) -> Exit {
    let ended = whichever!(verb, With { own, .. } => own.execute(socket, console));
    let ended = ended.and_then(|exit| Ok(console.flush().map(|()| exit)?));
    ended.unwrap_or_else(|trouble| trouble.tell(console))
}

#[cfg(test)]
mod tests;
