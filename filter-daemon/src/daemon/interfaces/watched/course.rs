//! Follows an interface that is renamed, moved or removed, or from which others detach the filter, and
//! attaches to it again.

use std::time::{Duration, Instant};

use tracing::{error, info, warn};

use super::super::KernelState;
use super::{AttachedTo, InterfaceState, WaitingInterface, WatchedInterface};
use crate::clock;
use crate::config::Mode;
use crate::kernel::{AttachMode, Attachment, Filter, KernelError, KernelInterface, Tampering};
use crate::text::{Explain, Explanation};

/// How many times within an hour a filter that someone detached is attached again at once.
const MOST_RETURNS: usize = 3;

/// How long each detaching is remembered.
const HOUR: Duration = Duration::from_secs(60 * 60);

/// The delay between attempts after that.
const SELDOM: Duration = Duration::from_secs(10 * 60);

impl WatchedInterface {
    /// Checks that the attached filter is still in place. Returns what others did to its link, if anything.
    pub(in crate::daemon::interfaces) fn compare(
        &mut self,
        reality: &KernelState,
        filter: &mut Filter,
    ) -> Option<Tampering> {
        self.find_left(reality);
        let seems_detached = self.seems_detached(reality);
        let InterfaceState::Attached(attached, place) = &mut self.state else { return None };
        let (name, here) = (&self.name, reality.named(&self.name));
        match reality.link(name) {
            Some(link) if link.program != attached.program => {
                let what = format!("another process replaced the program of its link (id {})", link.program);
                let number = here.map(|here| here.index);
                return Some(self.note_detached(&what, number, reality.before));
            }
            Some(link) => {
                attached.index = link.index;
                self.before.clone_from(&link.before);
                note_refusal(&mut self.forgetful, link.egress.as_ref());
                note_refusal(&mut self.unsent, link.outbound.as_ref());
                let under = reality.under(link);
                let is_xdp = under.is_some_and(|under| under.occupant.is_some());
                attached.mode = link.mode.or(is_xdp.then_some(AttachMode::Native)).or(attached.mode);
                let now = match under {
                    Some(under) if under.name == *name => AttachedTo::Here,
                    Some(under) => AttachedTo::Renamed(under.name.clone()),
                    None => AttachedTo::Moved,
                };
                if *place != now {
                    tell_place(name, place, &now);
                    *place = now;
                }
            }
            None if seems_detached => {
                let number = Some(attached.index);
                let what = "another process detached the filter";
                return Some(self.note_detached(what, number, reality.before));
            }
            None => {
                let index = attached.index;
                self.note_gone(here, filter);
                // Its earlier interface has another name now, is still filtered, and keeps the counts.
                if reality.links.iter().any(|link| link.index == index) {
                    (self.gaps, self.unprotected) = (0, Duration::ZERO);
                }
            }
        }
        None
    }

    /// Whether its link is missing, although its interface is there.
    pub(in crate::daemon::interfaces) fn seems_detached(&self, reality: &KernelState) -> bool {
        let InterfaceState::Attached(attached, _) = &self.state else { return false };
        reality.link(&self.name).is_none()
            && reality.named(&self.name).is_some_and(|here| here.index == attached.index)
    }

    /// A newly requested interface may have been filtered for long, and renamed or moved since.
    pub(super) fn find_left(&mut self, reality: &KernelState) {
        let is_new = matches!(&self.state, InterfaceState::Waiting(WaitingInterface { why: None, .. }));
        if let Some(link) = reality.link(&self.name)
            && is_new
            && reality.named(&self.name).is_none()
        {
            self.state = InterfaceState::found(link);
        }
    }

    fn note_detached(&mut self, what: &str, number: Option<u32>, before: Instant) -> Tampering {
        self.taken_off.retain(|when| when.elapsed() < HOUR);
        self.taken_off.push(clock::instant());
        let mut waiting =
            WaitingInterface { is_there: true, is_guess: true, ..WaitingInterface::since(before, None) };
        let name = &self.name;
        if self.taken_off.len() > MOST_RETURNS {
            let message = format!("{what}, {} times within an hour", self.taken_off.len());
            let remedy = "find out which process it is (`bpftool link`, `bpftool prog`)\nfilterd tries to attach again every ten minutes; to attach now: filterd reload";
            let why = Explanation::new(message, remedy);
            error!(watch.verb = "detach", "{name} is not filtered: {why}");
            waiting.why = Some(why);
            waiting.held_back = number.map(|number| (clock::instant() + SELDOM, number));
        } else {
            error!(watch.verb = "detach", "{name}: {what}; attaching again");
            waiting.why = Some(what.into());
        }
        self.gaps += 1;
        self.state = InterfaceState::Waiting(waiting);
        Tampering::Link(self.name.clone(), what.to_owned())
    }

    fn note_gone(&mut self, here: Option<&KernelInterface>, filter: &mut Filter) {
        let name = &self.name;
        match here {
            _ if self.unnamed.is_some() => info!(watch.verb = "detach", "{name} disappeared"),
            Some(_) => {
                warn!(watch.verb = "detach", "another interface is now named {name}; attaching to it");
            }
            None => {
                let then = "filterd will attach again when it returns";
                error!(watch.verb = "detach", "{name} disappeared; {then}");
            }
        }
        if let Err(error) = filter.detach(name) {
            error!("{}", error.explain());
        }
        self.state =
            InterfaceState::Waiting(WaitingInterface::since(clock::instant(), Some(self.absence(true))));
        self.gaps += 1;
    }

    /// Attaches if it waits, exists, and is not delayed.
    pub(in crate::daemon::interfaces) fn try_to_attach(
        &mut self,
        reality: &KernelState,
        mode: Mode,
        filter: &mut Filter,
    ) -> Option<AttachRefusal> {
        if self.is_over() {
            return None;
        }
        let absence = self.absence(true);
        let InterfaceState::Waiting(waiting) = &mut self.state else { return None };
        let name = &self.name;
        let Some(interface) = reality.named(name) else {
            if waiting.why.is_none() {
                let names: Vec<_> = reality.there.iter().map(|interface| interface.name.as_str()).collect();
                let names = names.join(", ");
                warn!("{name} does not exist yet; filterd will attach when it appears (existing: {names})");
            }
            waiting.why = Some(absence);
            waiting.is_there = false;
            return None;
        };
        self.need_not_be_there = false;
        let is_held_back = |(until, number)| clock::instant() < until && number == interface.index;
        if waiting.held_back.is_some_and(is_held_back) {
            return None;
        }
        match filter.attach(interface.clone(), mode) {
            Ok(attached) => {
                let has_link = reality.link(name).is_some_and(|link| link.index == interface.index);
                if !has_link {
                    let reason = attached.reason.map(|reason| format!(", because {}", reason.clause()));
                    info!(
                        watch.verb = "attach",
                        mode = attached.mode(),
                        "{name} attached{}",
                        reason.unwrap_or_default()
                    );
                } else if waiting.why.is_none() {
                    info!("{name} is still attached from an earlier filterd");
                }
                if let Some(told) = attached.reason.and_then(|reason| reason.warning(name)) {
                    warn!("{told}");
                }
                self.note_attached(attached);
                None
            }
            Err(error) => {
                waiting.is_there = true;
                let reason = error.explain();
                let is_known = waiting.why.as_ref() == Some(&reason);
                waiting.why = Some(reason);
                Some(AttachRefusal { error, is_known })
            }
        }
    }

    fn note_attached(&mut self, attached: Attachment) {
        let InterfaceState::Waiting(WaitingInterface { since, why, is_guess, .. }) = &self.state else {
            return;
        };
        let (gap, most) = (since.elapsed(), if *is_guess { "at most " } else { "" });
        if why.is_some() {
            let unprotected = format!("{most}{:.3}s", gap.as_secs_f64());
            warn!(
                watch.verb = "attach",
                unprotected = unprotected.as_str(),
                "{} attached after a gap",
                self.name
            );
        }
        if self.gaps > 0 {
            self.unprotected += gap;
        }
        self.state = InterfaceState::Attached(attached, AttachedTo::Here);
        self.since = clock::now();
    }
}

/// Stores why something is not so, and since when.
fn note_refusal(noted: &mut Option<(Instant, String)>, why: Option<&String>) {
    let since = noted.take().map_or_else(clock::instant, |(since, _)| since);
    *noted = why.map(|why| (since, why.clone()));
}

/// An interface that refused the filter.
pub struct AttachRefusal {
    error: KernelError,
    /// The same error was logged before.
    is_known: bool,
}

impl AttachRefusal {
    /// Logs the error unless it was logged before.
    pub fn told(self) -> KernelError {
        if !self.is_known {
            error!("{}", self.error.explain());
        }
        self.error
    }

    /// Returns the error without logging, for a caller that reports it.
    pub fn untold(self) -> KernelError {
        self.error
    }
}

fn tell_place(name: &str, before: &AttachedTo, now: &AttachedTo) {
    match (before, now) {
        (AttachedTo::Here, AttachedTo::Here) => {}
        (AttachedTo::Renamed(was), AttachedTo::Here) => {
            info!("{was} is named {name} again and is still filtered")
        }
        (AttachedTo::Moved, AttachedTo::Here) => {
            info!("{name} returned from another network namespace and is still filtered");
        }
        (AttachedTo::Moved, AttachedTo::Renamed(now)) => {
            info!("{name} returned from another network namespace as {now} and is still filtered");
        }
        (AttachedTo::Here | AttachedTo::Renamed(_), AttachedTo::Renamed(now)) => {
            info!("{name} was renamed to {now} and is still filtered");
        }
        (_, AttachedTo::Moved) => {
            info!("{name} was moved to another network namespace and is still filtered there");
        }
    }
}
