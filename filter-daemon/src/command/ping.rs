//! `filterd ping`: shows whether the daemon answers.

use crate::clock;
use clap::Args;

use super::ask::trouble::CommandError;
use super::render::console::Console;
use crate::control::client::{Client, Endpoint};
use crate::control::wire;
use crate::exit::Exit;

#[derive(Debug, Args)]
pub struct Ping {}

impl Ping {
    pub fn execute(&self, socket: &Endpoint, console: &mut Console) -> Result<Exit, CommandError> {
        let asked = clock::instant();
        let pong = Client::connect(socket)?.call(&wire::Ping {})?;
        let took = asked.elapsed().as_secs_f64() * 1000.0;
        console.answer(&pong, |pong| format!("filterd answers: pid {}, {took:.1} ms", pong.pid))?;
        Ok(Exit::Done)
    }
}
