//! Entries on their way to the daemon, gathered by their list.

use std::collections::BTreeMap;
use std::sync::Arc;

use filter_common::target::Target;

use super::sifting::To;
use crate::command::ask::interrupt::Done;
use crate::command::ask::messages::Messages;
use crate::control::client::{ClientError, Endpoint};
use crate::control::wire::own::{MOST_ENTRIES, Own};
use crate::control::wire::{Changed, Import};
use crate::text::Explanation;

/// Collects entries and sends them.
pub struct Sending<'a> {
    messages: Messages<'a, Import>,
    gathered: BTreeMap<To, Import>,
    allows: u64,
}

impl<'a> Sending<'a> {
    /// Connects.
    pub fn to(socket: &'a Endpoint) -> Result<Self, ClientError> {
        Ok(Self { messages: Messages::to(socket)?, gathered: BTreeMap::new(), allows: 0 })
    }

    /// How far it is, for whoever may have to tell it.
    pub fn progress(&self) -> Arc<Done> {
        self.messages.progress()
    }

    /// One entry more.
    pub fn push(&mut self, to: &To, target: Target, own: Own) -> Result<(), ClientError> {
        if !self.gathered.contains_key(to) {
            self.gathered.insert(to.clone(), empty(to));
        }
        self.allows += u64::from(to.allow);
        let Some(message) = self.gathered.get_mut(to) else { return Ok(()) };
        message.targets.push(target);
        message.own.push(own);
        if message.own.len() < MOST_ENTRIES {
            return Ok(());
        }
        let full = std::mem::replace(message, empty(to));
        self.send(full)
    }

    /// Nothing follows: sends the rest and waits for all answers.
    pub fn finish(&mut self) -> Result<(), ClientError> {
        let rest = std::mem::take(&mut self.gathered);
        rest.into_values()
            .filter(|message| !message.own.is_empty())
            .try_for_each(|message| self.send(message))?;
        self.messages.await_answers(0)
    }

    /// How many of them allow.
    pub const fn allows(&self) -> u64 {
        self.allows
    }

    /// What the daemon has done so far, and why whole messages were refused.
    pub fn done(&mut self, ended: &Result<(), ClientError>) -> (Changed, Vec<Explanation>) {
        (self.messages.done(ended), self.messages.refusals())
    }

    fn send(&mut self, mut message: Import) -> Result<(), ClientError> {
        let entries = message.own.len() as u64;
        if message.own.iter().all(|own| *own == Own::default()) {
            message.own.clear();
        }
        self.messages.send(&message, entries)
    }
}

fn empty(To { list, allow, wide }: &To) -> Import {
    let list = list.as_ref().map(ToString::to_string);
    Import { list, allow: *allow, wide: *wide, ..Import::default() }
}
