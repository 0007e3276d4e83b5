//! `filterd reload`: the daemon reads its configuration and its lists again.

use clap::Args;

use super::ask::trouble::Trouble;
use super::render::console::Console;
use super::render::figure::{count, counted};
use crate::control::client::{Client, Endpoint};
use crate::control::wire::{self, reload::Reply};
use crate::exit::Exit;

#[derive(Debug, Args)]
pub struct Reload {}

impl Reload {
    pub fn execute(&self, socket: &Endpoint, console: &mut Console) -> Result<Exit, Trouble> {
        let reloaded = Client::connect(socket)?.call(&wire::Reload {})?;
        console.answer(&reloaded, render)?;
        for warning in &reloaded.warnings {
            console.note(&format!("warning: {warning}"));
        }
        Ok(Exit::Done)
    }
}

fn render(reloaded: &Reply) -> String {
    let unchanged = match reloaded.unchanged {
        0 => String::new(),
        1 => "; 1 list unchanged".to_owned(),
        lists => format!("; {} lists unchanged", count(lists)),
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
        let reloaded = Reply { entered: 1, left: 20, unchanged: 3, milliseconds: 12, warnings: vec![] };
        assert_eq!(render(&reloaded), "reloaded in 12 ms: 1 target entered, 20 left; 3 lists unchanged");
    }
}
