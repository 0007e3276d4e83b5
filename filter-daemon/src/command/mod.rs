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
    /// Block addresses, prefixes or ranges, from now on
    ///
    /// What is blocked already is no error: the answer says what changed. Adding again with a longer --ttl extends
    /// it, a shorter one ends it earlier only with --shorten. Many targets at once are best given on standard input.
    Add(With<add::Add>),
    /// Remove what was added
    ///
    /// Takes targets out of the live lists, those that `filterd add` fills, and nothing that lies within them. Exits
    /// with 1 if one of them, or a part of it, is still blocked on all ports, by another entry or by a list of the
    /// configuration (with --list: by that very list): the answer names it and the command that helps.
    #[command(visible_alias = "del")]
    Remove(With<remove::Remove>),
    /// Let packets pass, whatever is blocked, and show what is allowed
    ///
    /// Allow always wins, wherever the block comes from, inside a blocked /8, too. When an allow ends, what it covered is
    /// blocked again.
    Allow(allow::Allow),
    /// Tell whether addresses are dropped, and why
    ///
    /// Exits with 0 if every one of them is dropped, with 1 if one is not.
    Test(With<test::Test>),
    /// Show what is blocked
    ///
    /// One entry a line: the target, and as a comment its list, since when, when it expires and why. A target that is
    /// on several lists is shown for each. With --json one object a line. A list that has no entry, or does not exist, is
    /// no error: live lists come with their first entry and go with their last.
    List(With<list::List>),
    /// Write down what is blocked and allowed, for an import or for another firewall
    ///
    /// Everything that is in force, whichever list has it: what blocks first, then what allows, marked as such. `plain` and `json`
    /// carry list, end and note, of which `filterd import` makes live lists; what stands in `block:` and `allow:` and on lists with
    /// ports it leaves out, and tells. So does an export of what its format cannot carry.
    Export(With<export::Export>),
    /// Put on live lists what a file holds: an export, an `ipset save`, an `nft -j list`, or any list with a target a line
    ///
    /// List, end and note of each entry are kept. Importing again changes nothing.
    Import(With<import::Import>),
    /// Remove everything that was added
    ///
    /// Empties the live lists, those that `filterd add` fills; one that allows only where it is named. What the configuration or a list file blocks stays
    /// blocked. A list that has no entry, or does not exist, is no error.
    Flush(With<flush::Flush>),
    /// Show what filterd does at the moment
    ///
    /// What is not as the configuration says stands first, with what to do about it; then it exits with 7.
    Status(With<status::Status>),
    /// Acknowledge troubles that are over, all of them or those that are named
    ///
    /// `filterd status` shows them, with an id each, until somebody does. Entries that were lost are such a trouble.
    Ack(With<ack::Ack>),
    /// Show every list: how long it is, how much is dropped for it, how old it is
    ///
    /// In the configuration's order, then those that commands made. An entry that several lists with the same ports
    /// have counts as shared for each, and what is dropped for it is counted for the first of them. Where a list is not
    /// what its file says, that is told below, with what to do about it; then it exits with 7.
    Lists(lists::Lists),
    /// Show how many packets were dropped and passed, and why, since the filter was attached
    Stats(With<stats::Stats>),
    /// Watch what is dropped, for the sake of whom and how fast, drawn anew each second
    ///
    /// With --once one picture as text: then it exits with 7 where something is not as the configuration says.
    Top(With<top::Top>),
    /// Read the configuration and the lists again, and apply the difference
    ///
    /// If anything in the configuration is wrong, all of it is told and nothing changes.
    Reload(With<reload::Reload>),
    /// Keep what `filterd reload --confirm` has brought
    ///
    /// Exits with 1 if no reload is on trial, if it is still at work, or if it was rolled back already.
    Confirm(With<confirm::Confirm>),
    /// Take back at once what `filterd reload --confirm` has brought
    ///
    /// Exits with 1 if no reload is on trial, nor was rolled back already.
    Rollback(With<rollback::Rollback>),
    /// Tell what a reload would change, and whom of those in touch with this host it would cut
    ///
    /// Nothing is changed. Exits with 1 if anything would change.
    Diff(With<diff::Diff>),
    /// Let everything pass for a while, and only count what is listed
    ///
    /// For finding out whether it is filterd that keeps something from working. Counted apart, as `paused` in `filterd
    /// stats`. A pause always has an end; pausing again makes it longer or shorter. Meanwhile `filterd status` tells it
    /// first, with exit code 7.
    Pause(With<pause::Pause>),
    /// End a pause: drop what is listed
    ///
    /// Where nothing is paused, nothing changes.
    Resume(With<resume::Resume>),
    /// Tell what filterd does and is asked to do, as it happens
    ///
    /// One line an event: when, what, and who asked for it. Goes on until it is interrupted, or as long as it is told to.
    Watch(With<watch::Watch>),
    /// Check a configuration and the lists it names; needs no daemon
    ///
    /// A filterd that runs is asked for the names of its live lists, which no list of the configuration can have.
    Check(With<check::Check>),
    /// Look at what stands in the way of filterd on this machine, or slows it down, and tell what mends it
    ///
    /// The kernel, each interface with its driver, memory, clock, state directory, other blocklists. Nothing is changed. Needs no
    /// daemon; what a user may not see is named.
    Doctor(With<doctor::Doctor>),
    /// Ask whether filterd answers
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
