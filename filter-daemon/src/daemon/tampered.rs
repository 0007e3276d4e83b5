//! Changes that others made to kernel objects that only filterd may change. They are repaired at once, and
//! reported until an operator acknowledges them.

use nix::unistd::Uid;
use tracing::{error, warn};

use super::notices::id_of;
use crate::accounts;
use crate::blocklist::Timestamp;
use crate::clock;
use crate::control::wire::{About, Fault};
use crate::kernel::Tampering;
use crate::text::Explanation;

/// The most that are kept; more would tell an operator nothing new.
const MOST: usize = 8;

const REMEDY: &str = "find out which process did it (`bpftool prog`, `ausearch -m BPF`)\nto end this notice:";

/// The part of the owner's state that concerns tampering.
#[derive(Default)]
pub struct Tampered {
    seen: Vec<NoticedTampering>,
    /// The user that owns the pins.
    owner: u32,
    /// How often the tables were checked.
    looks: usize,
}

struct NoticedTampering {
    since: Timestamp,
    tampering: Tampering,
    times: u64,
}

impl Tampered {
    pub fn set_owner(&mut self, owner: u32) {
        self.owner = owner;
    }

    /// Returns a different number for each check.
    pub fn next_look(&mut self) -> usize {
        self.looks = self.looks.wrapping_add(1);
        self.looks
    }

    /// Logs and records a change that was repaired.
    pub fn note(&mut self, tampering: Tampering, now: Timestamp) {
        let who = self.who_could();
        match &tampering {
            Tampering::PinsGone(_) => warn!("tampered with: {tampering}; filterd restored them ({who})"),
            // The result is logged when the interface is attached again.
            Tampering::Link(..) => warn!("tampered with: {tampering} ({who})"),
            Tampering::Slot(_) | Tampering::Pin(_) | Tampering::Tables(_) => {
                error!("tampered with: {tampering}; filterd fixed it ({who})");
            }
        }
        if let Some(seen) = self.seen.iter_mut().find(|seen| seen.tampering == tampering) {
            seen.times += 1;
        } else if self.seen.len() < MOST {
            self.seen.push(NoticedTampering { since: now, tampering, times: 1 });
        }
    }

    /// Forgets the changes that an operator acknowledged.
    pub fn acknowledge(&mut self, is_meant: impl Fn(&Fault) -> bool) {
        let mut seen = std::mem::take(&mut self.seen);
        seen.retain(|seen| !is_meant(&self.fault(seen)));
        self.seen = seen;
    }

    /// Changes that cannot be accidents.
    pub fn faults(&self) -> impl Iterator<Item = Fault> {
        let seen = self.seen.iter().filter(|seen| !seen.tampering.may_be_negligence());
        seen.map(|seen| self.fault(seen))
    }

    fn fault(&self, seen: &NoticedTampering) -> Fault {
        // The id stays the same, however often it happens.
        let id = id_of(seen.since.secs(), &seen.tampering.to_string());
        let remedy = format!("{REMEDY} filterd ack {id}");
        let told = Explanation::new(self.message(seen), remedy);
        // It is over, but may happen again.
        Fault { about: About::Durability, since: clock::on_the_wall(seen.since), told, id: Some(id) }
    }

    /// All changes as notices.
    pub fn notices(&self) -> impl Iterator<Item = Fault> {
        self.seen.iter().map(|seen| self.fault(seen))
    }

    /// Changes that a clean-up script may have caused.
    pub fn remarks(&self) -> impl Iterator<Item = Explanation> {
        let seen = self.seen.iter().filter(|seen| seen.tampering.may_be_negligence());
        seen.map(|seen| self.fault(seen).told)
    }

    fn message(&self, NoticedTampering { tampering, times, .. }: &NoticedTampering) -> String {
        let times = if *times > 1 { format!(", {times} times") } else { String::new() };
        format!("tampered with: {tampering}{times}; filterd fixed it. {}", self.who_could())
    }

    fn who_could(&self) -> String {
        let owner = match self.owner {
            0 => "and so could root, who owns the pins".to_owned(),
            owner => format!(
                "and so could root, and user {}, who owns the pins",
                accounts::name_of(Uid::from_raw(owner))
            ),
        };
        format!("A process with CAP_BPF could do it, {owner}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u32) -> Timestamp {
        Timestamp::from_secs(seconds)
    }

    #[test]
    fn tampering_is_shown_until_it_is_acknowledged() {
        let mut tampered = Tampered::default();
        tampered.note(Tampering::Slot(None), at(7));
        tampered.note(Tampering::Slot(None), at(9));
        tampered.note(
            Tampering::Link("eth0".to_owned(), "another process detached the filter".to_owned()),
            at(9),
        );
        let faults: Vec<_> = tampered.faults().collect();
        let [fault] = &faults[..] else { panic!("{faults:?}") };
        assert!(
            fault.told.message.contains("the slot of the judge program was empty"),
            "{}",
            fault.told.message
        );
        assert!(fault.told.message.contains("2 times"), "{}", fault.told.message);
        assert!(fault.told.message.contains("CAP_BPF"), "{}", fault.told.message);
        assert_eq!(tampered.remarks().count(), 1, "links may be taken off by chance");
        let id = fault.id.clone();
        tampered.acknowledge(|fault| fault.id == id);
        assert_eq!((tampered.faults().count(), tampered.remarks().count()), (0, 1));
        tampered.acknowledge(|_| true);
        assert_eq!((tampered.faults().count(), tampered.remarks().count()), (0, 0));
    }

    #[test]
    fn many_changes_are_reported_briefly() {
        let mut tampered = Tampered::default();
        (0..100).for_each(|program| tampered.note(Tampering::Slot(Some(program)), at(7)));
        assert_eq!(tampered.faults().count(), MOST);
    }
}
