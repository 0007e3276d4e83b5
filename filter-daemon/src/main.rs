//! The binary: the daemon, and the commands that send requests to it.

use std::process::ExitCode;

use filterd::cli::{self, Invocation};
use filterd::{command, daemon};

fn main() -> ExitCode {
    match cli::parse() {
        Invocation::Run(run) => daemon::run(&run),
        Invocation::Client(client) => command::execute(client),
        Invocation::Detach(leftovers) => daemon::detach(&leftovers),
        Invocation::Completions(shell) => shell.tell(),
        Invocation::Keep { pin_dir, log } => daemon::keep(&pin_dir, log),
        Invocation::StartFetches { user, named_by, log } => {
            daemon::start_fetches(user.as_deref(), named_by, log)
        }
        Invocation::Fetch { spawner } => daemon::fetch(spawner),
    }
}
