//! `filterd ack`: acknowledges troubles that filterd cannot end by itself.

use clap::Args;

use super::ask::trouble::CommandError;
use super::render::console::Console;
use crate::control::client::{Client, Endpoint};
use crate::control::wire;
use crate::control::wire::ack::Reply;
use crate::exit::Exit;

#[derive(Debug, Args)]
pub struct Ack {
    /// Problem to acknowledge, by the id that `filterd status` shows [default: all]
    #[arg(value_name = "ID")]
    ids: Vec<String>,
}

impl Ack {
    pub fn execute(&self, socket: &Endpoint, console: &mut Console) -> Result<Exit, CommandError> {
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
