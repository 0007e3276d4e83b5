//! Acknowledges notices: each one ends in the module that keeps it.

use super::owner::Owner;
use crate::control::wire::{Failure, Fault, ack};
use crate::text::{Explanation, printable};

impl Owner {
    /// Ends the notices with these ids, or all notices if no id is given. If one id is unknown, it ends none.
    pub(super) fn acknowledge(&mut self, ids: &[String]) -> Result<ack::Reply, Failure> {
        let known: Vec<Fault> = self.notices().collect();
        let is = |fault: &Fault, id: &String| fault.id.as_ref() == Some(id);
        if let Some(unknown) = ids.iter().find(|id| !known.iter().any(|fault| is(fault, id))) {
            return Err(no_notice(unknown));
        }
        let is_meant = |fault: &Fault| ids.is_empty() || ids.iter().any(|id| is(fault, id));
        if self.attachment.pinned.gap().is_some_and(|fault| is_meant(&fault)) {
            self.attachment.pinned.acknowledge();
        }
        if self.clock_fault().is_some_and(|fault| is_meant(&fault)) {
            self.clocks.time.acknowledge();
        }
        self.attachment.tampered.acknowledge(is_meant);
        let not_durable = self.core.persistence.acknowledge(is_meant).err();
        let acknowledged = known.into_iter().filter(is_meant).collect();
        Ok(ack::Reply { acknowledged, not_durable })
    }

    fn notices(&self) -> impl Iterator<Item = Fault> {
        let clock = self.clock_fault();
        self.core
            .persistence
            .notices()
            .chain(self.attachment.pinned.gap())
            .chain(clock)
            .chain(self.attachment.tampered.notices())
    }

    /// The notice about the clock counts only while entries have deadlines.
    pub(super) fn clock_fault(&self) -> Option<Fault> {
        self.clocks.time.fault(self.core.protection.blocklist().next_deadline().is_some())
    }
}

fn no_notice(id: &str) -> Failure {
    let id = printable::excerpt(id);
    Failure::Unparsable(Explanation::new(
        format!("nothing was acknowledged: there is no problem with the id {id}"),
        "see all problems with their ids: filterd status",
    ))
}
