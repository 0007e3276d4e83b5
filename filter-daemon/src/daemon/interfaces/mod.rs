//! The interfaces to filter, whether they exist or not. filterd attaches when an interface appears or
//! returns, and when someone has detached the filter. It measures and reports the time without protection.

mod foresight;
mod names;
mod watched;

use std::time::{Duration, Instant};

use tracing::{error, info, warn};

use super::error::DaemonError;
use super::sampling::SampledInterface;
use crate::clock;
use crate::config::Mode;
use crate::control::wire::accept::Accept;
use crate::control::wire::{Fault, status};
use crate::kernel::{Filter, KernelError, KernelInterface, Link, Tampering, interface};
use crate::source::trouble::Phrasing;
use crate::text::Explain;
pub use foresight::{InterfacePreview, beyond};
use watched::{AttachRefusal, MissedInterface};
pub use watched::{ModeChange, WatchedInterface};

/// How often to retry an interface that exists but refuses the filter, while nothing changes.
const RETRY: Duration = Duration::from_secs(10);

/// How often to check the links without an event, because the kernel does not report that a link was
/// detached.
const LOOK: Duration = Duration::from_secs(5);

/// The part of the owner's state that concerns interfaces.
pub struct Interfaces {
    watched: Vec<WatchedInterface>,
    /// Interfaces that a reload on trial has accepted as absent.
    tried: Vec<String>,
    /// Changes that others made to links, until they are reported.
    tampered: Vec<Tampering>,
    /// When all interfaces were last read.
    looked: Instant,
    /// When the links were last requested.
    asked: Instant,
    /// When the links were last seen in order.
    seen: Instant,
}

/// The state of the kernel at one moment.
struct KernelState {
    there: Vec<KernelInterface>,
    links: Vec<Link>,
    /// When it was read before: a change since then has lasted at most this long.
    before: Instant,
}

impl Interfaces {
    pub fn new() -> Self {
        let now = clock::instant();
        Self {
            watched: Vec::new(),
            tried: Vec::new(),
            tampered: Vec::new(),
            looked: now,
            asked: now,
            seen: now,
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = &WatchedInterface> {
        self.watched.iter()
    }

    /// The interfaces that are filtered, by number and name.
    pub fn filtered(&self) -> Vec<(u32, String)> {
        self.sampled().into_iter().map(|(index, interface)| (index, interface.name)).collect()
    }

    /// The same with what their frames begin with.
    pub fn sampled(&self) -> Vec<(u32, SampledInterface)> {
        let sampled = |one: &WatchedInterface| {
            let attached = one.attached()?;
            let (name, framing) = (one.name().to_owned(), attached.framing);
            Some((attached.index, SampledInterface { name, framing }))
        };
        self.watched.iter().filter_map(sampled).collect()
    }

    /// Interfaces that are not filtered, and interfaces that stay filtered because of them.
    pub fn faults(&self) -> impl Iterator<Item = Fault> {
        self.faults_in(Phrasing::Is)
    }

    fn faults_in(&self, mood: Phrasing) -> impl Iterator<Item = Fault> {
        let (missed, protects) = (self.missed(), self.protects());
        let told = self.watched.iter().filter(|one| !self.is_well_without(one));
        let held_back = move |one: &WatchedInterface| one.held_back_for(missed?, mood);
        let sent = self.watched.iter().flat_map(|one| [one.forgetful_fault(), one.unsent_fault()]);
        let not_filtered = told.filter_map(move |one| one.fault(protects, mood));
        not_filtered.chain(self.watched.iter().filter_map(held_back)).chain(sent.flatten())
    }

    /// The wanted interfaces that are not filtered.
    pub fn all_missed(&self) -> impl Iterator<Item = &WatchedInterface> {
        self.watched.iter().filter(|one| one.is_missed() && !self.is_well_without(one))
    }

    /// The first interface that is missed.
    fn missed(&self) -> Option<MissedInterface<'_>> {
        let mut missed = self.all_missed();
        let first = missed.next()?;
        let is_alone = missed.next().is_none();
        Some(MissedInterface {
            name: first.name(),
            is_absent: !first.is_there(),
            is_alone,
            protects: self.protects(),
        })
    }

    /// Whether any wanted interface is filtered.
    fn protects(&self) -> bool {
        self.watched.iter().any(|one| one.is_named() && !one.is_missed())
    }

    /// Whether its absence was accepted. This counts only while another interface is filtered, because
    /// accepting an absence never means to filter nothing at all.
    fn is_well_without(&self, one: &WatchedInterface) -> bool {
        one.is_accepted_as_absent() && self.protects()
    }

    /// The interfaces whose absence was accepted.
    pub fn accepted(&self) -> Vec<String> {
        let accepted = self.watched.iter().filter(|one| one.is_accepted_as_absent());
        accepted.map(|one| one.name().to_owned()).collect()
    }

    /// Marks absences accepted since `before` as on trial.
    pub fn try_out(&mut self, before: &[String]) {
        self.tried = self.accepted();
        self.tried.retain(|name| !before.contains(name));
    }

    /// Withdraws the absences that were accepted on trial.
    pub fn take_back(&mut self) {
        let tried = std::mem::take(&mut self.tried);
        let tried = self.watched.iter_mut().filter(|one| tried.iter().any(|name| name == one.name()));
        tried.for_each(WatchedInterface::require);
    }

    /// Explains the names in `accept` that had no effect: the interface exists, or nothing at all is
    /// filtered.
    pub fn accepted_in_vain(&mut self, accept: &Accept) -> Vec<String> {
        let protects = self.protects();
        let named = self.watched.iter_mut().filter(|one| one.is_named() && accept.has_interface(one.name()));
        let in_vain = named.filter_map(|one| {
            let name = one.name().to_owned();
            if !one.is_accepted_as_absent() {
                return Some(format!("{name} exists, so its absence cannot be accepted"));
            }
            if protects {
                one.tell_accepted();
                return None;
            }
            one.require();
            Some(format!("the absence of {name} was not accepted: no other configured interface is filtered"))
        });
        in_vain.collect()
    }

    /// Attaches to every interface that exists, and waits for the others. If all that exist refuse, filterd
    /// does not start. Links that an earlier filterd left are recognised; none of them is detached here.
    pub async fn attach(
        &mut self,
        names: Vec<String>,
        mode: Mode,
        filter: &mut Filter,
    ) -> Result<(), DaemonError> {
        self.follow(names, &Accept::default(), filter)?;
        if self.watched.is_empty() {
            return Err(DaemonError::NoInterface);
        }
        filter.adopt()?;
        let left = filter.find_earlier_tables().then(|| filter.links()).transpose()?;
        let mut refused = self.look(mode, filter).await?;
        left.into_iter().for_each(|left| self.tell_unfiltered(&left));
        // The caller ends with the last error, and reports it.
        let last = refused.pop_if(|_| !self.watched.iter().any(WatchedInterface::has_hope));
        refused.into_iter().for_each(|refused| drop(refused.told()));
        last.map_or(Ok(()), |last| Err(last.untold().into()))
    }

    /// Reports interfaces that were not filtered although an earlier filterd left its filter running. How
    /// long that was is unknown.
    fn tell_unfiltered(&self, left: &[Link]) {
        let was_filtered = |index: u32| left.iter().any(|link| link.index == index);
        for one in self.watched.iter().filter(|one| one.is_named()) {
            if one.attached().is_some_and(|attached| !was_filtered(attached.index)) {
                warn!(
                    "{} was not filtered for an unknown time: the filter of an earlier filterd was not attached to it",
                    one.name()
                );
            }
        }
    }

    /// Reads all interfaces and attaches where that is needed. Returns the interfaces that refused, and why.
    async fn look(&mut self, mode: Mode, filter: &mut Filter) -> Result<Vec<AttachRefusal>, KernelError> {
        self.looked = clock::instant();
        self.asked = self.looked;
        let there = interface::all().await?;
        let links = filter.links()?;
        let before = std::mem::replace(&mut self.seen, clock::instant());
        let mut reality = KernelState { there, links, before };
        if self.watched.iter().any(|one| one.seems_detached(&reality)) {
            // Perhaps the interface went away between the two answers, and its link with it.
            reality.there = interface::all().await?;
        }
        names::settle(&mut self.watched, &mut reality, |renamed| renamed.tell(filter));
        let left = unknown(&self.watched, &reality);
        self.watched.extend(left);
        let mut refused = Vec::new();
        for one in &mut self.watched {
            self.tampered.extend(one.compare(&reality, filter));
            refused.extend(one.try_to_attach(&reality, mode, filter));
        }
        self.watched.retain(|one| !one.is_over());
        Ok(refused)
    }

    /// Reads all interfaces. If that fails, a later call tries again.
    pub async fn look_again(&mut self, mode: Mode, filter: &mut Filter) -> Vec<KernelError> {
        match self.look(mode, filter).await {
            Ok(refused) => refused.into_iter().map(AttachRefusal::told).collect(),
            Err(error) => {
                error!("{}", error.explain());
                vec![error]
            }
        }
    }

    /// Takes the changes that others made to links since the last call.
    pub fn take_tampered(&mut self) -> Vec<Tampering> {
        std::mem::take(&mut self.tampered)
    }

    /// Whether every link is attached with filterd's program. Sends one request to the broker.
    pub fn check_links(&mut self, filter: &mut Filter) -> bool {
        self.asked = clock::instant();
        let Ok(links) = filter.links() else { return false };
        let are_as_left = self.watched.iter().all(|one| one.is_as_left(&links));
        if are_as_left {
            self.seen = self.asked;
        }
        are_as_left
    }

    /// Records that the filtered interfaces now run this program.
    pub fn set_program(&mut self, program: u32) {
        self.watched.iter_mut().for_each(|one| one.set_program(program));
    }

    /// How long ago the links were last requested.
    pub fn age(&self) -> Duration {
        self.asked.elapsed()
    }

    /// Sets the wanted interfaces. A postponed retry happens at once, because the operator asks for it. An
    /// interface that is filtered but no longer wanted is [released](Self::let_go) later.
    pub fn follow(
        &mut self,
        names: Vec<String>,
        accept: &Accept,
        filter: &mut Filter,
    ) -> Result<(), KernelError> {
        let (watched, go) = followed(std::mem::take(&mut self.watched), &names);
        self.watched = watched;
        for one in go {
            filter.detach(one.name())?;
            info!("{}: filterd no longer waits for it", one.name());
        }
        for one in self.watched.iter_mut().filter(|one| accept.has_interface(one.name())) {
            one.need_not_be_there();
        }
        Ok(())
    }

    /// Detaches from interfaces that the configuration no longer names, once all that it names are filtered.
    /// A misspelt name must not release the interface that was meant.
    pub fn let_go(&mut self, filter: &mut Filter) {
        if let Some(missed) = self.missed() {
            let name = missed.name.to_owned();
            let missed = MissedInterface { name: &name, ..missed };
            return self.watched.iter_mut().for_each(|one| one.tell_held_back_for(missed));
        }
        self.watched.retain(|one| !one.is_held_back() || !is_let_go(one.name(), filter));
    }

    /// Continues the counts of the filterd that was replaced.
    pub fn go_on_from(&mut self, before: &[status::Interface]) {
        for one in &mut self.watched {
            if let Some(before) = before.iter().find(|before| before.name == one.name()) {
                one.goes_on_from(before);
            }
        }
    }

    /// Records that all interfaces were detached.
    pub fn forget(&mut self) {
        for one in self.watched.drain(..).filter(|one| one.attached().is_some()) {
            info!(watch.verb = "detach", "{}: detached", one.name());
        }
    }

    /// The time until the links must be checked, or an interface that refused is due for a retry.
    pub fn until_due(&self) -> Option<Duration> {
        let refuses = self.watched.iter().any(WatchedInterface::refuses);
        let retry = refuses.then(|| RETRY.saturating_sub(self.looked.elapsed()));
        let look = (!self.watched.is_empty()).then(|| LOOK.saturating_sub(self.asked.elapsed()));
        retry.into_iter().chain(look).min()
    }

    /// Whether a retry is due for an interface that refused.
    pub fn must_retry(&self) -> bool {
        self.watched.iter().any(WatchedInterface::refuses) && self.looked.elapsed() >= RETRY
    }
}

/// Splits the interfaces into those to watch for these names, and those no longer waited for.
fn followed(
    watched: Vec<WatchedInterface>,
    names: &[String],
) -> (Vec<WatchedInterface>, Vec<WatchedInterface>) {
    let is_asked_for = |one: &WatchedInterface| names.iter().any(|name| name == one.name());
    let (mut stay, go): (Vec<_>, Vec<_>) =
        watched.into_iter().partition(|one| is_asked_for(one) || one.attached().is_some());
    for one in &mut stay {
        if is_asked_for(one) { one.begin_anew() } else { one.hold_back() }
    }
    for name in names {
        if stay.iter().all(|one| one.name() != name) {
            stay.push(WatchedInterface::new(name.clone()));
        }
    }
    (stay, go)
}

/// Interfaces that a link of filterd's own filters, but that are not watched.
fn unknown(watched: &[WatchedInterface], reality: &KernelState) -> Vec<WatchedInterface> {
    let is_known = |link: &&Link| watched.iter().any(|one| one.name() == link.name);
    let is_named = |name: &&str| watched.iter().any(|one| one.is_named() && one.name() == *name);
    // A wanted interface that was renamed is released only when the configuration is read again, as the
    // message promised.
    let found = |link: &Link| match link.formerly.as_deref().filter(is_named) {
        Some(formerly) => WatchedInterface::left_without_its_name(link, formerly),
        None => WatchedInterface::left(link),
    };
    reality.links.iter().filter(|link| !is_known(link)).map(found).collect()
}

fn is_let_go(name: &str, filter: &mut Filter) -> bool {
    match filter.detach(name) {
        Ok(()) => {
            warn!(watch.verb = "detach", "{name} detached: the configuration no longer lists it");
        }
        Err(error) => {
            error!("{}", error.explain());
            return false;
        }
    }
    true
}

impl KernelState {
    fn named(&self, name: &str) -> Option<&KernelInterface> {
        self.there.iter().find(|interface| interface.name == name)
    }

    fn link(&self, name: &str) -> Option<&Link> {
        self.links.iter().find(|link| link.name == name)
    }

    /// The interface of this namespace that carries the link. Comparing the number alone is not enough,
    /// because another namespace may use it, too.
    fn under(&self, link: &Link) -> Option<&KernelInterface> {
        let carries = |found: &KernelInterface| {
            link.is_found_here || found.occupant.as_ref().is_some_and(|it| it.id == link.program)
        };
        self.there.iter().find(|interface| interface.index == link.index && carries(interface))
    }
}
