//! The commands, one file each: its arguments, what it asks the daemon, and what it prints.

mod add;
mod batch;
mod change;
mod check;
mod console;
mod figure;
mod flush;
mod input;
mod list;
mod moment;
mod ping;
mod progress;
mod reload;
mod remove;
mod stats;
mod status;
mod test;
mod trouble;
mod ttl;

use std::io::{BufWriter, IsTerminal, stderr, stdin, stdout};
use std::path::Path;
use std::process::ExitCode;

use clap::Subcommand;

use crate::cli::Client;
use crate::exit::Exit;
use console::Console;

/// What can be asked of filterd.
#[derive(Debug, Subcommand)]
pub enum Verb {
    Add(add::Add),
    #[command(visible_alias = "del")]
    Remove(remove::Remove),
    Test(test::Test),
    List(list::List),
    Flush(flush::Flush),
    Status(status::Status),
    Stats(stats::Stats),
    Reload(reload::Reload),
    Check(check::Check),
    Ping(ping::Ping),
}

/// Carries a command out, in this process's terminal or pipes.
pub fn execute(client: Client) -> ExitCode {
    let (input, mut err) = (stdin(), stderr());
    let mut console = Console {
        json: client.json,
        quiet: client.quiet,
        input_is_terminal: input.is_terminal(),
        input_length: console::length_of(&input),
        progress: err.is_terminal() && !client.quiet,
        input: &mut input.lock(),
        out: &mut BufWriter::new(stdout().lock()),
        // Locked only while it speaks, since the progress bar draws there too.
        err: &mut err,
    };
    carry_out(&client.verb, &client.socket, &mut console).into()
}

fn carry_out(verb: &Verb, socket: &Path, console: &mut Console) -> Exit {
    let ended = match verb {
        Verb::Add(add) => add.execute(socket, console),
        Verb::Remove(remove) => remove.execute(socket, console),
        Verb::Test(test) => test.execute(socket, console),
        Verb::List(list) => list.execute(socket, console),
        Verb::Flush(flush) => flush.execute(socket, console),
        Verb::Status(status) => status.execute(socket, console),
        Verb::Stats(stats) => stats.execute(socket, console),
        Verb::Reload(reload) => reload.execute(socket, console),
        Verb::Check(check) => check.execute(console),
        Verb::Ping(ping) => ping.execute(socket, console),
    };
    let ended = ended.and_then(|exit| Ok(console.flush().map(|()| exit)?));
    ended.unwrap_or_else(|trouble| trouble.tell(console))
}

#[cfg(test)]
mod tests;
