//! One interface by its name: attached, or waited for, and why.

use std::time::{Duration, Instant};

use tracing::{error, info, warn};

use super::Reality;
use crate::clock;
use crate::config::Mode;
use crate::control::wire::{About, Fault, status};
use crate::kernel::{Attached, Filter, Interface, KernelError, Link};
use crate::text::{Explain, Explanation};

/// How often within an hour the filter is put back at once that somebody has taken off.
const MOST_RETURNS: usize = 3;

/// For so long it is remembered that somebody has taken it off.
const HOUR: Duration = Duration::from_secs(60 * 60);

/// How often it is put back after that.
const SELDOM: Duration = Duration::from_secs(10 * 60);

/// An interface by its name, and how it is with it.
pub struct Watched {
    name: String,
    state: State,
    /// How long it was without protection since it was first attached, gaps that are over.
    unprotected: Duration,
    gaps: u64,
    /// When somebody has taken the filter off, within the last hour.
    taken_off: Vec<Instant>,
    /// What it was called, if another interface has that name now and nobody has asked for it under this one.
    formerly: Option<String>,
}

enum State {
    /// The filter is on it; somewhere else if it has been renamed or moved.
    Attached(Attached, Where),
    /// It is not, and why.
    Waiting(Waiting),
}

struct Waiting {
    since: Instant,
    why: Option<Explanation>,
    is_there: bool,
    /// It may have been so for a shorter time: somebody else did it, and the kernel told nobody.
    is_guess: bool,
    /// Not to be tried before this, as long as it is the interface of this number.
    held_back: Option<(Instant, u32)>,
}

#[derive(Clone, PartialEq, Eq)]
enum Where {
    Here,
    Renamed(String),
    Moved,
}

impl Waiting {
    fn since(since: Instant, why: Option<Explanation>) -> Self {
        Self { since, why, is_there: false, is_guess: false, held_back: None }
    }
}

/// What it is, for others.
impl Watched {
    /// Not attached yet.
    pub fn new(name: String) -> Self {
        let state = State::Waiting(Waiting::since(clock::instant(), None));
        Self { name, state, unprotected: Duration::ZERO, gaps: 0, taken_off: Vec::new(), formerly: None }
    }

    /// The same interface by the name it has now, while another one has taken its own.
    pub fn without_its_name(&self, now: &str) -> Option<Self> {
        let State::Attached(attached, _) = &self.state else { return None };
        let state = State::Attached(*attached, Where::Here);
        Some(Self { state, formerly: Some(self.name.clone()), ..Self::new(now.to_owned()) })
    }

    /// How it is attached.
    pub fn attached(&self) -> Option<&Attached> {
        match &self.state {
            State::Attached(attached, _) => Some(attached),
            State::Waiting(_) => None,
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same for a status.
    pub fn status(&self) -> status::Interface {
        let mut status = status::Interface { name: self.name.clone(), ..status::Interface::default() };
        let mut unprotected = self.unprotected;
        match &self.state {
            State::Attached(attached, place) => {
                status.mode = attached.mode.to_string();
                status.note = self.note(place);
            }
            State::Waiting(waiting) => {
                status.mode = "none".to_owned();
                status.note = waiting.why.as_ref().map(|why| why.message.clone());
                unprotected += waiting.since.elapsed();
            }
        }
        status.unprotected = unprotected.as_secs();
        status.gaps = self.gaps;
        status
    }

    fn note(&self, place: &Where) -> Option<String> {
        match (place, &self.formerly) {
            (Where::Here, None) => None,
            (Where::Here, Some(formerly)) => Some(format!(
                "it was called {formerly}; it stays filtered until the next `filterd reload`, and then if the configuration names it"
            )),
            (Where::Renamed(now), _) => Some(format!("it is called {now} now")),
            (Where::Moved, _) => Some("it was moved to another network namespace".to_owned()),
        }
    }

    /// That it is not filtered.
    pub fn fault(&self) -> Option<Fault> {
        let State::Waiting(Waiting { since, why, .. }) = &self.state else { return None };
        let (name, why) = (&self.name, why.clone().unwrap_or_else(|| self.absence()));
        let message = format!("{name} is not filtered: {}", why.message);
        let told = Explanation { message, remedy: why.remedy };
        Some(Fault { about: About::Protection, since: clock::then(*since).secs(), told })
    }

    fn absence(&self) -> Explanation {
        let message = format!("there is no interface {}", self.name);
        Explanation::new(message, "filterd attaches to it as soon as it is there")
    }

    /// Is it attached, or could it be some day?
    pub fn has_hope(&self) -> bool {
        !self.refuses()
    }

    /// Is it there, and not filtered?
    pub fn refuses(&self) -> bool {
        matches!(self.state, State::Waiting(Waiting { is_there: true, .. }))
    }

    /// Is there nothing left that anybody asked for?
    pub fn is_over(&self) -> bool {
        self.formerly.is_some() && matches!(self.state, State::Waiting(Waiting { is_there: false, .. }))
    }

    /// Nothing is held against it: it was asked for by this name.
    pub fn begin_anew(&mut self) {
        self.formerly = None;
        self.taken_off.clear();
        if let State::Waiting(waiting) = &mut self.state {
            waiting.held_back = None;
        }
    }

    /// Is its link where it was, with our program?
    pub fn is_as_left(&self, links: &[Link]) -> bool {
        let Some(Attached { index, program, .. }) = self.attached() else { return true };
        links.iter().any(|link| link.name == self.name && link.index == *index && link.program == *program)
    }
}

/// What becomes of it.
impl Watched {
    /// Is what was attached still filtered?
    pub(super) fn compare(&mut self, reality: &Reality, filter: &mut Filter) {
        let State::Attached(attached, place) = &mut self.state else { return };
        let (name, here) = (&self.name, reality.named(&self.name));
        match reality.link(name) {
            Some(link) if link.program != attached.program => {
                let what = format!("somebody has given its link another program (id {})", link.program);
                let number = here.map(|here| here.index);
                self.was_taken_off(&what, number, reality.before);
            }
            Some(link) => {
                attached.index = link.index;
                let under = reality.under(link);
                if let Some(occupant) = under.and_then(|under| under.occupant.as_ref()) {
                    attached.mode = occupant.mode;
                }
                let now = match under {
                    Some(under) if under.name == *name => Where::Here,
                    Some(under) => Where::Renamed(under.name.clone()),
                    None => Where::Moved,
                };
                if *place != now {
                    tell_place(name, &now);
                    *place = now;
                }
            }
            None if here.is_some_and(|here| here.index == attached.index) => {
                let number = Some(attached.index);
                self.was_taken_off("somebody has taken the filter off it", number, reality.before);
            }
            None => self.has_gone(here, filter),
        }
    }

    fn was_taken_off(&mut self, what: &str, number: Option<u32>, before: Instant) {
        self.taken_off.retain(|when| when.elapsed() < HOUR);
        self.taken_off.push(clock::instant());
        let mut waiting = Waiting { is_there: true, is_guess: true, ..Waiting::since(before, None) };
        let name = &self.name;
        if self.taken_off.len() > MOST_RETURNS {
            let message = format!("{what}, {} times within an hour", self.taken_off.len());
            let remedy = "find out who it is (`bpftool link`, `bpftool prog`), then `filterd reload`: it attaches at \
                          once, and without it every ten minutes";
            let why = Explanation::new(message, remedy);
            error!("{name} is not filtered: {why}");
            waiting.why = Some(why);
            waiting.held_back = number.map(|number| (clock::instant() + SELDOM, number));
        } else {
            error!("{name}: {what}: attaching it again");
            waiting.why = Some(what.into());
        }
        self.gaps += 1;
        self.state = State::Waiting(waiting);
    }

    fn has_gone(&mut self, here: Option<&Interface>, filter: &mut Filter) {
        let name = &self.name;
        match here {
            Some(_) => warn!("another interface is called {name} now: it is attached to"),
            None if self.formerly.is_some() => info!("{name} is gone"),
            None => error!("{name} is gone: it is attached to again when it comes back"),
        }
        if let Err(error) = filter.detach(name) {
            error!("{}", error.explain());
        }
        self.state = State::Waiting(Waiting::since(clock::instant(), Some(self.absence())));
        self.gaps += 1;
    }

    /// If it waits, is there and is not held back.
    pub(super) fn try_to_attach(
        &mut self,
        there: &[Interface],
        mode: Mode,
        filter: &mut Filter,
    ) -> Option<KernelError> {
        let absence = self.absence();
        let State::Waiting(waiting) = &mut self.state else { return None };
        let name = &self.name;
        let Some(interface) = there.iter().find(|interface| interface.name == *name) else {
            if waiting.why.is_none() {
                let names: Vec<_> = there.iter().map(|interface| interface.name.as_str()).collect();
                let names = names.join(", ");
                warn!("{name} is not there yet: it is attached to when it appears (there are {names})");
            }
            waiting.why = Some(absence);
            waiting.is_there = false;
            return None;
        };
        let is_held_back = |(until, number)| clock::instant() < until && number == interface.index;
        if waiting.held_back.is_some_and(is_held_back) {
            return None;
        }
        match filter.attach(interface.clone(), mode) {
            Ok(attached) => {
                self.is_attached(attached);
                None
            }
            Err(error) => {
                waiting.is_there = true;
                let reason = error.explain();
                if waiting.why.as_ref() != Some(&reason) {
                    error!("{reason}");
                    waiting.why = Some(reason);
                }
                Some(error)
            }
        }
    }

    fn is_attached(&mut self, attached: Attached) {
        let State::Waiting(Waiting { since, why, is_guess, .. }) = &self.state else { return };
        let (gap, most) = (since.elapsed(), if *is_guess { "at most " } else { "" });
        if why.is_some() {
            warn!("{}: attached after {most}{:.3} s without protection", self.name, gap.as_secs_f64());
        }
        if self.gaps > 0 {
            self.unprotected += gap;
        }
        self.state = State::Attached(attached, Where::Here);
    }
}

fn tell_place(name: &str, place: &Where) {
    match place {
        Where::Here => {}
        Where::Renamed(now) => info!("{name} is called {now} now, and is still filtered"),
        Where::Moved => {
            info!("{name} was moved to another network namespace, and is still filtered there");
        }
    }
}
