//! The interfaces that are to be filtered, whether they are there or not: attached when they appear, and again when they
//! come back or somebody has taken the filter off, with the time between counted and told.

mod foresight;
mod names;
mod watched;

use std::time::{Duration, Instant};

use tracing::{error, info, warn};

use super::error::DaemonError;
use crate::clock;
use crate::config::Mode;
use crate::control::wire::accept::Accept;
use crate::control::wire::{Fault, status};
use crate::kernel::{Filter, Interface, KernelError, Link, Tampering, interface};
use crate::source::trouble::Mood;
use crate::text::Explain;
pub use foresight::{Foreseen, beyond};
use watched::{Missed, Refused};
pub use watched::{Modes, Watched};

/// How often an interface is tried that is there but cannot be attached to, as long as nothing changes.
const RETRY: Duration = Duration::from_secs(10);

/// How often the links are looked at though nothing was heard: the kernel tells nobody that a link was taken off.
const LOOK: Duration = Duration::from_secs(5);

/// The part of the owner's state that is about interfaces.
pub struct Interfaces {
    watched: Vec<Watched>,
    /// Those of which a reload on trial has accepted that they are not there.
    tried: Vec<String>,
    /// What somebody has done to links, until it is told.
    tampered: Vec<Tampering>,
    /// When all interfaces were last looked at.
    looked: Instant,
    /// When the links were last asked for.
    asked: Instant,
    /// When they were last seen.
    seen: Instant,
}

/// What the kernel says at one moment.
struct Reality {
    there: Vec<Interface>,
    links: Vec<Link>,
    /// When it was asked before: what is different now has been so at most since then.
    before: Instant,
}

impl Interfaces {
    /// None yet.
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

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Watched> {
        self.watched.iter()
    }

    /// Those that are filtered, by number and name.
    pub fn filtered(&self) -> Vec<(u32, String)> {
        let filtered = |one: &Watched| Some((one.attached()?.index, one.name().to_owned()));
        self.watched.iter().filter_map(filtered).collect()
    }

    /// Those on which nothing is filtered, and those that are filtered for their sake.
    pub fn faults(&self) -> impl Iterator<Item = Fault> {
        self.faults_in(Mood::Is)
    }

    fn faults_in(&self, mood: Mood) -> impl Iterator<Item = Fault> {
        let (missed, protects) = (self.missed(), self.protects());
        let told = self.watched.iter().filter(|one| !self.is_well_without(one));
        let held_back = move |one: &Watched| one.held_back_for(missed?, mood);
        let forgetful = self.watched.iter().filter_map(Watched::forgetful_fault);
        let not_filtered = told.filter_map(move |one| one.fault(protects, mood));
        not_filtered.chain(self.watched.iter().filter_map(held_back)).chain(forgetful)
    }

    /// Those that were asked for, are not filtered, and should be.
    pub fn all_missed(&self) -> impl Iterator<Item = &Watched> {
        self.watched.iter().filter(|one| one.is_missed() && !self.is_well_without(one))
    }

    /// The first of them.
    fn missed(&self) -> Option<Missed<'_>> {
        let mut missed = self.all_missed();
        let first = missed.next()?;
        let is_alone = missed.next().is_none();
        Some(Missed { name: first.name(), is_absent: !first.is_there(), is_alone, protects: self.protects() })
    }

    /// Is anything filtered that was asked for?
    fn protects(&self) -> bool {
        self.watched.iter().any(|one| one.is_named() && !one.is_missed())
    }

    /// Has somebody accepted that it is not there? That counts as long as another one is filtered: nobody means that
    /// nothing at all is.
    fn is_well_without(&self, one: &Watched) -> bool {
        one.is_accepted_as_absent() && self.protects()
    }

    /// Those of which somebody has accepted that they are not there.
    pub fn accepted(&self) -> Vec<String> {
        let accepted = self.watched.iter().filter(|one| one.is_accepted_as_absent());
        accepted.map(|one| one.name().to_owned()).collect()
    }

    /// What has been accepted since is so on trial.
    pub fn try_out(&mut self, before: &[String]) {
        self.tried = self.accepted();
        self.tried.retain(|name| !before.contains(name));
    }

    /// What was accepted on trial is missed as before.
    pub fn take_back(&mut self) {
        let tried = std::mem::take(&mut self.tried);
        let tried = self.watched.iter_mut().filter(|one| tried.iter().any(|name| name == one.name()));
        tried.for_each(Watched::is_to_be_there);
    }

    /// What was to be accepted just now, and is not: what is there, and that nothing at all is filtered.
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
            one.is_to_be_there();
            Some(format!("the absence of {name} was not accepted: no other configured interface is filtered"))
        });
        in_vain.collect()
    }

    /// Attaches to every interface that is there. Those that are not there yet are waited for; if all that are there refuse,
    /// filterd does not start. What an earlier filterd has left is known by its link; nothing of it is let go here.
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
        let left = filter.was_left_at_work().then(|| filter.links()).transpose()?;
        let mut refused = self.look(mode, filter).await?;
        left.into_iter().for_each(|left| self.tell_unfiltered(&left));
        // The last word is that of whoever ends.
        let last = refused.pop_if(|_| !self.watched.iter().any(Watched::has_hope));
        refused.into_iter().for_each(|refused| drop(refused.told()));
        last.map_or(Ok(()), |last| Err(last.untold().into()))
    }

    /// Those that were not filtered though an earlier filterd has left its filter at work: nobody knows for how long.
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

    /// Looks at all interfaces, and makes of them what they should be. Tells why some refuse.
    async fn look(&mut self, mode: Mode, filter: &mut Filter) -> Result<Vec<Refused>, KernelError> {
        self.looked = clock::instant();
        self.asked = self.looked;
        let there = interface::all().await?;
        let links = filter.links()?;
        let before = std::mem::replace(&mut self.seen, clock::instant());
        let mut reality = Reality { there, links, before };
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

    /// Looks at all interfaces; where even that fails, it is tried again.
    pub async fn look_again(&mut self, mode: Mode, filter: &mut Filter) -> Vec<KernelError> {
        match self.look(mode, filter).await {
            Ok(refused) => refused.into_iter().map(Refused::told).collect(),
            Err(error) => {
                error!("{}", error.explain());
                vec![error]
            }
        }
    }

    /// What somebody has done to links since this was asked last.
    pub fn take_tampered(&mut self) -> Vec<Tampering> {
        std::mem::take(&mut self.tampered)
    }

    /// Is every link where it was, with our program? Costs one question to the broker.
    pub fn are_as_left(&mut self, filter: &mut Filter) -> bool {
        self.asked = clock::instant();
        let Ok(links) = filter.links() else { return false };
        let are_as_left = self.watched.iter().all(|one| one.is_as_left(&links));
        if are_as_left {
            self.seen = self.asked;
        }
        are_as_left
    }

    /// Those that are filtered have been given the filter anew, by this program.
    pub fn are_given(&mut self, program: u32) {
        self.watched.iter_mut().for_each(|one| one.is_given(program));
    }

    /// How long ago they were last looked at.
    pub fn age(&self) -> Duration {
        self.asked.elapsed()
    }

    /// These are asked for, and no others. What was put off is tried again: it is the operator who asks. What is filtered
    /// and not asked for is [let go](Self::let_go) in its time.
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

    /// Takes the filter off what the configuration no longer names, once all that it does name is filtered: a name that is
    /// misspelt must not let go of the interface that was meant.
    pub fn let_go(&mut self, filter: &mut Filter) {
        if let Some(missed) = self.missed() {
            let name = missed.name.to_owned();
            let missed = Missed { name: &name, ..missed };
            return self.watched.iter_mut().for_each(|one| one.tell_held_back_for(missed));
        }
        self.watched.retain(|one| !one.is_held_back() || !is_let_go(one.name(), filter));
    }

    /// What another filterd counted, whose place is ours now, goes on.
    pub fn go_on_from(&mut self, before: &[status::Interface]) {
        for one in &mut self.watched {
            if let Some(before) = before.iter().find(|before| before.name == one.name()) {
                one.goes_on_from(before);
            }
        }
    }

    /// Everything has been taken off them.
    pub fn forget(&mut self) {
        for one in self.watched.drain(..).filter(|one| one.attached().is_some()) {
            info!(watch.verb = "detach", "{}: detached", one.name());
        }
    }

    /// How long until the links are to be looked at, or an interface is tried again that refused.
    pub fn until_due(&self) -> Option<Duration> {
        let refuses = self.watched.iter().any(Watched::refuses);
        let retry = refuses.then(|| RETRY.saturating_sub(self.looked.elapsed()));
        let look = (!self.watched.is_empty()).then(|| LOOK.saturating_sub(self.asked.elapsed()));
        retry.into_iter().chain(look).min()
    }

    /// Is one to be tried again that refused?
    pub fn must_retry(&self) -> bool {
        self.watched.iter().any(Watched::refuses) && self.looked.elapsed() >= RETRY
    }
}

/// What is watched where these names are asked for, and what is no longer waited for.
fn followed(watched: Vec<Watched>, names: &[String]) -> (Vec<Watched>, Vec<Watched>) {
    let is_asked_for = |one: &Watched| names.iter().any(|name| name == one.name());
    let (mut stay, go): (Vec<_>, Vec<_>) =
        watched.into_iter().partition(|one| is_asked_for(one) || one.attached().is_some());
    for one in &mut stay {
        if is_asked_for(one) { one.begin_anew() } else { one.is_no_longer_named() }
    }
    for name in names {
        if stay.iter().all(|one| one.name() != name) {
            stay.push(Watched::new(name.clone()));
        }
    }
    (stay, go)
}

/// Those that are filtered by a link of ours of which nothing is known.
fn unknown(watched: &[Watched], reality: &Reality) -> Vec<Watched> {
    let is_known = |link: &&Link| watched.iter().any(|one| one.name() == link.name);
    let is_named = |name: &&str| watched.iter().any(|one| one.is_named() && one.name() == *name);
    // What only lost its name goes when the configuration was read again, as it was promised.
    let found = |link: &Link| match link.formerly.as_deref().filter(is_named) {
        Some(formerly) => Watched::left_without_its_name(link, formerly),
        None => Watched::left(link),
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

impl Reality {
    fn named(&self, name: &str) -> Option<&Interface> {
        self.there.iter().find(|interface| interface.name == name)
    }

    fn link(&self, name: &str) -> Option<&Link> {
        self.links.iter().find(|link| link.name == name)
    }

    /// The interface of this namespace that a link is on. A number alone may be that of another one, elsewhere.
    fn under(&self, link: &Link) -> Option<&Interface> {
        let carries = |found: &Interface| found.occupant.as_ref().is_some_and(|it| it.id == link.program);
        self.there.iter().find(|interface| interface.index == link.index && carries(interface))
    }
}
