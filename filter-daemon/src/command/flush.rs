//! `filterd flush`: removes everything that was added live.

use std::path::Path;

use clap::Args;

use super::ask::change;
use super::ask::trouble::Trouble;
use super::render::console::Console;
use super::render::figure::{count, counted};
use crate::config::ListName;
use crate::control::client::Client;
use crate::control::wire::words;
use crate::control::wire::{self, Changed};
use crate::exit::Exit;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  filterd flush
  filterd flush --list ssh")]
pub struct Flush {
    /// Only this live list
    #[arg(long, value_name = "NAME", value_parser = words::list_name)]
    list: Option<ListName>,
}

impl Flush {
    pub fn execute(&self, socket: &Path, console: &mut Console) -> Result<Exit, Trouble> {
        let request = wire::Flush { list: self.list.as_ref().map(ToString::to_string) };
        let changed = Client::connect(socket)?.call(&request)?;
        console.answer(&changed, render)?;
        change::tell_durability(&changed, console);
        Ok(if changed.not_durable.is_some() { Exit::Partly } else { Exit::Done })
    }
}

fn render(changed: &Changed) -> String {
    match (changed.changed, changed.changed.saturating_sub(changed.left)) {
        (0, _) => "nothing to remove: nothing was added".to_owned(),
        (all, 0) => format!("unblocked {}", counted(all, "target")),
        (all, kept) => format!(
            "removed {}: {} unblocked, {} still blocked by other lists",
            counted(all, "target"),
            count(changed.left),
            count(kept)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_says_what_is_still_blocked() {
        let told = |changed, left| render(&Changed { named: changed, changed, left, ..Changed::default() });
        assert_eq!(told(0, 0), "nothing to remove: nothing was added");
        assert_eq!(told(1, 1), "unblocked 1 target");
        assert_eq!(
            told(1200, 1000),
            "removed 1,200 targets: 1,000 unblocked, 200 still blocked by other lists"
        );
    }
}
