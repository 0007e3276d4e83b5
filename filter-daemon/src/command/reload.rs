//! `filterd reload`: the daemon reads its configuration and its lists again.

use std::path::Path;

use clap::Args;

use super::console::Console;
use super::figure::{count, counted};
use super::trouble::Trouble;
use crate::control::client::Client;
use crate::control::wire::{Empty, Reloaded, Request};
use crate::exit::Exit;

#[derive(Debug, Args)]
pub struct Reload {}

impl Reload {
    pub fn execute(&self, socket: &Path, console: &mut Console) -> Result<Exit, Trouble> {
        let reloaded: Reloaded = Client::connect(socket)?.call(&Request::Reload(Empty {}))?;
        console.answer(&reloaded, told)?;
        for warning in &reloaded.warnings {
            console.note(&format!("warning: {warning}"));
        }
        Ok(Exit::Done)
    }
}

fn told(reloaded: &Reloaded) -> String {
    let unchanged = match reloaded.unchanged {
        0 => String::new(),
        1 => "; 1 list is as it was".to_owned(),
        lists => format!("; {} lists are as they were", count(lists)),
    };
    format!(
        "reloaded in {} ms: {} entered, {} left{unchanged}",
        count(reloaded.milliseconds),
        counted(reloaded.entered, "target"),
        count(reloaded.left)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_difference_is_told() {
        let reloaded = Reloaded { entered: 1, left: 20, unchanged: 3, milliseconds: 12, warnings: vec![] };
        assert_eq!(told(&reloaded), "reloaded in 12 ms: 1 target entered, 20 left; 3 lists are as they were");
    }
}
