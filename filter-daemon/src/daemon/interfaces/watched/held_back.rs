//! Keeps filtering interfaces that the configuration no longer names, while any interface that it does name
//! is not filtered. A misspelt name must not detach the filter from the interface that was meant.

use tracing::warn;

use super::{AttachedTo, InterfaceState, UnnamedReason, WatchedInterface};
use crate::clock;
use crate::control::wire::{About, Fault, accept};
use crate::kernel::{Attachment, Link};
use crate::source::trouble::Phrasing;
use crate::text::Explanation;

/// A named interface that is not filtered, because of which others are held back.
#[derive(Clone, Copy)]
pub struct MissedInterface<'a> {
    pub name: &'a str,
    /// It does not even exist.
    pub is_absent: bool,
    /// It is the only such interface.
    pub is_alone: bool,
    /// At least one named interface is filtered.
    pub protects: bool,
}

impl MissedInterface<'_> {
    /// The remedy, which says when `other` is released.
    fn remedy(&self, other: &str) -> String {
        let Self { name, is_absent, is_alone, protects } = *self;
        let then = match (protects, is_alone) {
            (true, true) if is_absent => {
                let accept = accept::word_for(name);
                format!(
                    "if {name} may be missing: filterd reload --accept {accept}    (stops filtering {other} at once)"
                )
            }
            (true, true) => format!(
                "to stop filtering {other} at once: remove {name} from the configuration, then run `filterd reload`"
            ),
            (true, false) => format!(
                "filterd keeps {other} until every configured interface is filtered, or missing and accepted by `filterd reload --accept`"
            ),
            // Without that interface the configuration might name none, which a reload refuses.
            (false, _) => {
                format!("filterd keeps {other} until every configured interface exists and is filtered")
            }
        };
        format!("if {name} is a typo: correct it, then run `filterd reload`\n{then}")
    }
}

impl UnnamedReason {
    pub(super) fn held_back() -> Self {
        Self::HeldBack { since: clock::instant(), is_told: false }
    }
}

impl InterfaceState {
    /// The state that an earlier filterd left.
    pub(super) fn found(link: &Link) -> Self {
        let Link { index, program, framing, .. } = *link;
        Self::Attached(Attachment { index, mode: None, reason: None, program, framing }, AttachedTo::Here)
    }
}

impl WatchedInterface {
    /// Records that the configuration no longer names it.
    pub fn hold_back(&mut self) {
        if !matches!(self.unnamed, Some(UnnamedReason::HeldBack { .. })) {
            self.unnamed = Some(UnnamedReason::held_back());
        }
    }

    /// Whether it is filtered although the configuration does not name it.
    pub fn is_held_back(&self) -> bool {
        matches!(self.unnamed, Some(UnnamedReason::HeldBack { .. })) && self.attached().is_some()
    }

    /// The fault that it is still filtered because `missed` is not filtered.
    pub fn held_back_for(&self, missed: MissedInterface, mood: Phrasing) -> Option<Fault> {
        let (Some(UnnamedReason::HeldBack { since, .. }), InterfaceState::Attached(_, place)) =
            (&self.unnamed, &self.state)
        else {
            return None;
        };
        let (name, remedy) = (&self.name, missed.remedy(&self.name));
        let now = match place {
            AttachedTo::Here => String::new(),
            AttachedTo::Renamed(now) => format!(" (called {now} now)"),
            AttachedTo::Moved => " (in another network namespace now)".to_owned(),
        };
        let (is, is_not) = match mood {
            Phrasing::Is => ("is still", "is not"),
            Phrasing::Would => ("would still be", "would not be"),
        };
        let message = format!(
            "{name}{now} {is} filtered, although the configuration no longer lists it: {} {is_not} filtered, and filterd keeps {name} until it is",
            missed.name
        );
        let told = Explanation::new(message, remedy);
        Some(Fault {
            about: About::Configuration,
            since: clock::on_the_wall(clock::then(*since)),
            told,
            id: None,
        })
    }

    /// Logs that fault once.
    pub fn tell_held_back_for(&mut self, missed: MissedInterface) {
        let fault = self.held_back_for(missed, Phrasing::Is);
        if let (Some(UnnamedReason::HeldBack { is_told, .. }), Some(fault)) = (&mut self.unnamed, fault)
            && !std::mem::replace(is_told, true)
        {
            warn!("{}", fault.told);
        }
    }
}
