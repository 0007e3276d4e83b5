//! Says in one sentence whether protection is as configured. `status`, `top` and the page begin with it.

use super::figure::counted;
use super::moment::Clock;
use crate::control::wire::snapshot::Reply as Snapshot;
use crate::control::wire::status::{Interface, NOT_FILTERED, Paused, is_protected};
use crate::control::wire::{About, Fault};

/// The facts that the sentence depends on.
pub struct ProtectionInput<'a> {
    pub interfaces: &'a [Interface],
    /// The number of targets packets from which are blocked.
    pub targets: u64,
    /// The number of targets packets to which are blocked.
    pub targets_out: u64,
    pub faults: &'a [Fault],
    pub enforce: bool,
    pub paused: Option<&'a Paused>,
}

/// The state of protection, as a level for colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtectionLevel {
    /// As configured, and listed packets are dropped.
    Well,
    /// As configured, but none is dropped; or there is a fault that does not concern protection.
    Noteworthy,
    /// Packets may pass that should be dropped.
    Bad,
}

impl<'a> ProtectionInput<'a> {
    /// Takes the facts from a snapshot.
    pub fn of(picture: &'a Snapshot) -> Self {
        let told_by_lists =
            || picture.lists.iter().filter(|list| !list.allows).map(|list| list.entries).sum();
        Self {
            interfaces: &picture.interfaces,
            // An earlier daemon reports only the number of entries of each list.
            targets: picture.targets.unwrap_or_else(told_by_lists),
            targets_out: picture.targets_out,
            faults: &picture.faults,
            enforce: picture.enforce,
            paused: picture.paused.as_ref(),
        }
    }
}

impl ProtectionInput<'_> {
    /// Describes protection in one sentence.
    pub fn told(&self, clock: &Clock) -> String {
        let filtered = self.interfaces.iter().filter(|one| one.mode != NOT_FILTERED);
        let names: Vec<_> = filtered.map(|one| one.name.as_str()).collect();
        if names.is_empty() {
            return "NOT PROTECTED: no interface is filtered".to_owned();
        }
        let others = match self.faults.len() {
            0 => String::new(),
            1 => "; there is one other problem".to_owned(),
            more => format!("; there are {more} other problems"),
        };
        let whence = format!("packets {} on {}", blocked(self.targets, self.targets_out), names.join(", "));
        match self.paused {
            // A pause is itself reported as a fault, which `bad` counts.
            Some(paused) if self.enforce && self.bad() <= 1 => {
                format!("PAUSED until {}: {whence} are counted, not dropped", clock.at(paused.until))
            }
            _ if self.bad() > 0 => format!(
                "NOT AS CONFIGURED: some packets that should be dropped may pass (see below); {whence} are filtered"
            ),
            // A list that never loaded may be the only one.
            _ if self.is_other_than_written() && self.blocks_nothing() => {
                format!("NOTHING IS BLOCKED on {}: see the problems below", names.join(", "))
            }
            _ if self.is_other_than_written() => {
                let (begin, what) =
                    if self.enforce { ("Protected", "dropped") } else { ("Counted", "counted, not dropped") };
                format!("{begin}, BUT NOT ALL AS CONFIGURED: {whence} are {what}; see the problems below")
            }
            _ if self.enforce && self.blocks_nothing() => {
                format!("Working as configured on {}: nothing is blocked now{others}", names.join(", "))
            }
            _ if !self.enforce => format!("As configured, {whence} are counted, not dropped{others}"),
            _ => format!("Protected as configured: {whence} are dropped{others}"),
        }
    }

    fn blocks_nothing(&self) -> bool {
        self.targets == 0 && self.targets_out == 0
    }

    /// Returns whether a list or the configuration is in force in another form than written. Possibly
    /// nothing of it is in force.
    fn is_other_than_written(&self) -> bool {
        let is_so = |fault: &Fault| matches!(fault.about, About::Lists | About::Configuration);
        self.faults.iter().any(is_so)
    }

    /// The level that colours show.
    pub fn standing(&self) -> ProtectionLevel {
        if !is_protected(self.interfaces, self.faults, self.enforce && self.paused.is_some()) {
            ProtectionLevel::Bad
        } else if self.enforce && self.faults.is_empty() {
            ProtectionLevel::Well
        } else {
            ProtectionLevel::Noteworthy
        }
    }

    /// The number of faults because of which packets may pass.
    fn bad(&self) -> usize {
        self.faults.iter().filter(|fault| fault.about == About::Protection).count()
    }
}

/// The packets that are blocked, in words: by the number of targets that they are from, and that they are to.
pub fn blocked(from: u64, to: u64) -> String {
    match (from, to) {
        (from, 0) => format!("from {}", counted(from, "target")),
        (0, to) => format!("to {}", counted(to, "target")),
        (from, to) => format!("from {} and to {}", counted(from, "target"), counted(to, "target")),
    }
}
