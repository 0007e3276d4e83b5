//! Is protection what the configuration says? In one sentence, which `status`, `top` and the page begin with.

use super::figure::counted;
use super::moment::Clock;
use crate::control::wire::snapshot::Reply as Snapshot;
use crate::control::wire::status::{Interface, NOT_FILTERED, Paused, is_protected};
use crate::control::wire::{About, Fault};

/// What it depends on.
pub struct Protection<'a> {
    pub interfaces: &'a [Interface],
    /// How many targets are blocked.
    pub targets: u64,
    pub faults: &'a [Fault],
    pub enforce: bool,
    pub paused: Option<&'a Paused>,
}

/// How it stands, for whoever has colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// As configured, and listed packets are dropped.
    Well,
    /// As configured, and none is dropped; or something beside protection is not as it should be.
    Noteworthy,
    /// Packets may pass that should be dropped.
    Bad,
}

impl<'a> Protection<'a> {
    /// As a picture of everything tells it.
    pub fn of(picture: &'a Snapshot) -> Self {
        let told_by_lists =
            || picture.lists.iter().filter(|list| !list.allows).map(|list| list.entries).sum();
        Self {
            interfaces: &picture.interfaces,
            // A daemon from before tells only how many each list has.
            targets: picture.targets.unwrap_or_else(told_by_lists),
            faults: &picture.faults,
            enforce: picture.enforce,
            paused: picture.paused.as_ref(),
        }
    }
}

impl Protection<'_> {
    /// In one sentence.
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
        let whence = format!("packets from {} on {}", counted(self.targets, "target"), names.join(", "));
        match self.paused {
            // That is a fault itself, and told as one.
            Some(paused) if self.enforce && self.bad() <= 1 => {
                format!("PAUSED until {}: {whence} are counted, not dropped", clock.at(paused.until))
            }
            _ if self.bad() > 0 => format!(
                "NOT AS CONFIGURED: some packets that should be dropped may pass (see below); {whence} are filtered"
            ),
            // A list that never came may be all there is.
            _ if self.is_other_than_written() && self.targets == 0 => {
                format!("NOTHING IS BLOCKED on {}: see the problems below", names.join(", "))
            }
            _ if self.is_other_than_written() => {
                let (begin, what) =
                    if self.enforce { ("Protected", "dropped") } else { ("Counted", "counted, not dropped") };
                format!("{begin}, BUT NOT ALL AS CONFIGURED: {whence} are {what}; see the problems below")
            }
            _ if !self.enforce => format!("As configured, {whence} are counted, not dropped{others}"),
            _ => format!("Protected as configured: {whence} are dropped{others}"),
        }
    }

    /// Is a list, or the configuration, in force otherwise than it is written? Nothing may be in force of it at all.
    fn is_other_than_written(&self) -> bool {
        let is_so = |fault: &Fault| matches!(fault.about, About::Lists | About::Configuration);
        self.faults.iter().any(is_so)
    }

    /// The same at a glance.
    pub fn standing(&self) -> Standing {
        if !is_protected(self.interfaces, self.faults, self.enforce && self.paused.is_some()) {
            Standing::Bad
        } else if self.enforce && self.faults.is_empty() {
            Standing::Well
        } else {
            Standing::Noteworthy
        }
    }

    /// How many things there are because of which packets may pass.
    fn bad(&self) -> usize {
        self.faults.iter().filter(|fault| fault.about == About::Protection).count()
    }
}
