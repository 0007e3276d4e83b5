//! `filterd ack`: somebody has looked at troubles that filterd cannot end by itself.

use clap::Args;

use super::ask::trouble::Trouble;
use super::render::console::Console;
use crate::control::client::{Client, Endpoint};
use crate::control::wire;
use crate::control::wire::ack::Reply;
use crate::exit::Exit;

#[derive(Debug, Args)]
#[command(after_help = "\
filterd ends most troubles by itself, as soon as their cause is gone: a full disk, a missing interface, a list that cannot be
read. Nothing ends a trouble that is over, such as entries that were lost. `filterd status` shows it with its id, also after a
restart, until somebody acknowledges it. The log tells who did.

Exit codes: 0 acknowledged, also where there was nothing to acknowledge · 2 there is no such trouble, and none was acknowledged
· 7 acknowledged, but the next start shows it again: the state directory cannot be written.

Examples:
  filterd status                       what is wrong, with the id of each trouble that can be acknowledged
  filterd ack 3f2a                     this one
  filterd ack                          all of them, each of which it prints")]
pub struct Ack {
    /// The id of a trouble, as `filterd status` shows it; all of them if none is named
    #[arg(value_name = "ID")]
    ids: Vec<String>,
}

impl Ack {
    pub fn execute(&self, socket: &Endpoint, console: &mut Console) -> Result<Exit, Trouble> {
        let reply = Client::connect(socket)?.call(&wire::Ack { ids: self.ids.clone() })?;
        console.answer(&reply, render)?;
        let Some(told) = &reply.not_durable else { return Ok(Exit::Done) };
        console.flush()?;
        console.complain(told);
        Ok(Exit::Partly)
    }
}

fn render(reply: &Reply) -> String {
    if reply.acknowledged.is_empty() {
        return "nothing to acknowledge: no problem has an id (`filterd status` shows all)".to_owned();
    }
    let lines = reply.acknowledged.iter().map(|fault| {
        let id = fault.id.as_deref().unwrap_or_default();
        format!("acknowledged {id}: {}", fault.told.message)
    });
    lines.collect::<Vec<_>>().join("\n")
}
