//! Whether the filter would outlive the daemon: its pins are looked at, and put back where somebody has removed them.

use tracing::error;

use crate::blocklist::Timestamp;
use crate::clock;
use crate::control::wire::{About, Fault};
use crate::kernel::{Filter, KernelError};
use crate::text::{Explain, Explanation};

/// The part of the owner's state that is about pins.
#[derive(Default)]
pub struct Pinned {
    /// Why they cannot be put back, and since when.
    missing: Option<(Timestamp, Explanation)>,
}

impl Pinned {
    /// Looks at them. Tells whether the egress program was attached anew.
    pub fn look(&mut self, filter: &mut Filter) -> bool {
        let mended = filter.mend_pins();
        let is_anew = matches!(mended, Ok(true));
        self.note(mended.map(drop), clock::now());
        is_anew
    }

    fn note(&mut self, mended: Result<(), KernelError>, now: Timestamp) {
        let Err(error) = mended else {
            self.missing = None;
            return;
        };
        let told = error.explain();
        if self.missing.as_ref().is_none_or(|(_, before)| *before != told) {
            error!("the pins of the filter are gone, and cannot be put back: {told}");
        }
        let since = self.missing.as_ref().map_or(now, |(since, _)| *since);
        self.missing = Some((since, told));
    }

    /// Without them the filter goes when filterd does.
    pub fn fault(&self) -> Option<Fault> {
        let (since, told) = self.missing.as_ref()?;
        let message = format!(
            "if filterd ended now, the filter would end with it: its pins are gone, and cannot be put back: {}",
            told.message
        );
        let first = told.remedy.as_ref().map_or_else(String::new, |remedy| format!("{remedy}; "));
        let remedy =
            format!("{first}filterd tries every 5 s, and does not tell this any more once they are back");
        Some(Fault {
            about: About::Durability,
            since: clock::on_the_wall(*since),
            told: Explanation::new(message, remedy),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pins_that_cannot_be_put_back_are_told_since_they_are_gone_until_they_are_back() {
        let mut pinned = Pinned::default();
        let at = |secs| Timestamp::from_secs(secs);
        let gone =
            || KernelError::NoBpffs { path: "/sys/fs/bpf/filterd".into(), reason: "it is gone".into() };
        assert_eq!(pinned.fault(), None);
        pinned.note(Err(gone()), at(7));
        pinned.note(Err(gone()), at(12));
        let fault = pinned.fault().unwrap();
        assert_eq!((fault.about, fault.since), (About::Durability, 7));
        assert!(fault.told.message.contains("/sys/fs/bpf/filterd"), "{}", fault.told.message);
        pinned.note(Ok(()), at(17));
        assert_eq!(pinned.fault(), None);
    }
}
