//! The commands, one file each: the arguments, the request to the daemon, and the output. [`Verb`] and
//! `whichever!` list them here. `ask` sends requests to the daemon, and `render` formats answers.

mod ack;
mod add;
mod allow;
mod ask;
mod check;
mod confirm;
mod crowdsec;
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

use crate::cli::{ClientInvocation, GlobalOptions, WithGlobals};
use crate::control::client::Endpoint;
use crate::exit::Exit;
use allow::AllowVerb;
use crowdsec::CrowdSecVerb;
use lists::ListsVerb;
use render::console::{self, Console};
use render::moment::Clock;

/// What can be asked of filterd. The arguments of the one that was typed are in its file; those of the others are never
/// built, which halves what a short command takes.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Verb {
    /// Block addresses, prefixes or ranges
    Add(WithGlobals<add::Add>),
    /// Unblock what `filterd add` blocked
    #[command(visible_alias = "del")]
    Remove(WithGlobals<remove::Remove>),
    /// Allow addresses even if they are blocked
    Allow(allow::Allow),
    /// Show whether addresses are dropped, and why
    Test(WithGlobals<test::Test>),
    /// Show what is blocked
    List(WithGlobals<list::List>),
    /// Print all entries in force, for an import or another firewall
    Export(WithGlobals<export::Export>),
    /// Add the entries of a file to live lists
    Import(WithGlobals<import::Import>),
    /// Remove all blocking entries that commands added
    Flush(WithGlobals<flush::Flush>),
    /// Show what filterd does now, and what needs attention
    Status(WithGlobals<status::Status>),
    /// Acknowledge problems that are over
    Ack(WithGlobals<ack::Ack>),
    /// Show all lists, with their entries, hits, age and problems
    Lists(lists::Lists),
    /// Show how filterd follows CrowdSec
    #[command(name = "crowdsec")]
    CrowdSec(crowdsec::CrowdSecCommand),
    /// Show how many packets were dropped and passed, and why
    Stats(WithGlobals<stats::Stats>),
    /// Show drops live, by list, source or reason
    Top(WithGlobals<top::Top>),
    /// Apply the changed configuration and lists
    Reload(WithGlobals<reload::Reload>),
    /// Keep a reload that is on trial
    Confirm(WithGlobals<confirm::Confirm>),
    /// Undo a reload that is on trial
    Rollback(WithGlobals<rollback::Rollback>),
    /// Show what a reload would change, and which peers it would cut off
    Diff(WithGlobals<diff::Diff>),
    /// Let all packets pass for a while
    Pause(WithGlobals<pause::Pause>),
    /// End a pause
    Resume(WithGlobals<resume::Resume>),
    /// Print changes and drops as they happen
    Watch(WithGlobals<watch::Watch>),
    /// Check a configuration and its lists, without a daemon
    Check(WithGlobals<check::Check>),
    /// Check whether this machine can run filterd
    Doctor(WithGlobals<doctor::Doctor>),
    /// Check whether filterd answers
    Ping(WithGlobals<ping::Ping>),
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
            Verb::CrowdSec(crowdsec) => match &crowdsec.verb {
                CrowdSecVerb::Status($with) => $what,
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
    pub fn everywhere(&self) -> [Option<&GlobalOptions>; 2] {
        let between = if let Verb::Allow(allow) = self {
            Some(&allow.everywhere)
        } else if let Verb::CrowdSec(crowdsec) = self {
            Some(&crowdsec.everywhere)
        } else if let Verb::Lists(lists) = self {
            Some(&lists.show.everywhere)
        } else {
            None
        };
        [between, Some(whichever!(self, WithGlobals { everywhere, .. } => everywhere))]
    }
}

/// Runs a command in this process, on its terminal or pipes.
pub fn execute(client: ClientInvocation) -> ExitCode {
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
    let ended = whichever!(verb, WithGlobals { own, .. } => own.execute(socket, console));
    let ended = ended.and_then(|exit| Ok(console.flush().map(|()| exit)?));
    ended.unwrap_or_else(|trouble| trouble.tell(console))
}

#[cfg(test)]
mod tests;
