//! One interface by its name: attached, or waited for, and why. What becomes of it is in `course`.

mod course;

use std::time::{Duration, Instant};

use crate::clock;
use crate::control::wire::{About, Fault, status};
use crate::kernel::{Attached, Link};
use crate::text::Explanation;

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
