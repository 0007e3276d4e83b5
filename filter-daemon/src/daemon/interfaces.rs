//! The interfaces that are to be filtered, whether they are there or not: attached when they appear, and again when they
//! come back, with the time between counted and told.

use std::time::{Duration, Instant};

use tracing::{error, info, warn};

use super::error::DaemonError;
use crate::clock;
use crate::config::Mode;
use crate::control::wire::{About, Fault, status};
use crate::kernel::{Attached, Filter, Interface, KernelError, interface};
use crate::text::{Explain, Explanation};

/// How often an interface is tried that is there but cannot be attached to, as long as nothing changes.
const RETRY: Duration = Duration::from_secs(10);

/// An interface by its name, and how it is with it.
pub struct Watched {
    name: String,
    state: State,
    /// How long it was without protection since it was first attached, gaps that are over.
    unprotected: Duration,
    gaps: u64,
}

enum State {
    /// The filter is on it; somewhere else if it has been renamed or moved.
    Attached(Attached, Where),
    /// It is not, and why.
    Waiting { since: Instant, why: String, is_there: bool },
}

#[derive(Clone, PartialEq, Eq)]
enum Where {
    Here,
    Renamed(String),
    Moved,
}

impl Watched {
    fn new(name: String) -> Self {
        let state = State::Waiting { since: clock::instant(), why: String::new(), is_there: false };
        Self { name, state, unprotected: Duration::ZERO, gaps: 0 }
    }

    /// How it is attached.
    pub fn attached(&self) -> Option<&Attached> {
        match &self.state {
            State::Attached(attached, _) => Some(attached),
            State::Waiting { .. } => None,
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
                status.note = match place {
                    Where::Here => None,
                    Where::Renamed(now) => Some(format!("it is called {now} now")),
                    Where::Moved => Some("it was moved to another network namespace".to_owned()),
                };
            }
            State::Waiting { since, why, .. } => {
                status.mode = "none".to_owned();
                status.note = Some(why.clone());
                unprotected += since.elapsed();
            }
        }
        status.unprotected = unprotected.as_secs();
        status.gaps = self.gaps;
        status
    }

    fn fault(&self) -> Option<Fault> {
        let State::Waiting { since, why, .. } = &self.state else { return None };
        let message = format!("{} is not filtered: {why}", self.name);
        let remedy = "filterd attaches to it as soon as it can; `filterd status` tells when".to_owned();
        let told = Explanation { message, remedy: Some(remedy) };
        Some(Fault { about: About::Protection, since: clock::then(*since).secs(), told })
    }
}

/// The part of the owner's state that is about interfaces.
pub struct Interfaces {
    watched: Vec<Watched>,
    /// When they were last looked at.
    looked: Instant,
}

impl Interfaces {
    /// None yet.
    pub fn new() -> Self {
        Self { watched: Vec::new(), looked: clock::instant() }
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Watched> {
        self.watched.iter()
    }

    /// Those on which nothing is filtered.
    pub fn faults(&self) -> impl Iterator<Item = Fault> {
        self.watched.iter().filter_map(Watched::fault)
    }

    /// Attaches to every interface that is there. Those that are not there yet are waited for; if all that are there refuse,
    /// filterd does not start.
    pub async fn attach(
        &mut self,
        names: Vec<String>,
        mode: Mode,
        filter: &mut Filter,
    ) -> Result<(), DaemonError> {
        self.follow(names, filter)?;
        if self.watched.is_empty() {
            return Err(DaemonError::NoInterface);
        }
        let mut refused = self.look(mode, filter).await?;
        let some_hope = self.watched.iter().any(|watched| {
            matches!(watched.state, State::Attached(..) | State::Waiting { is_there: false, .. })
        });
        match refused.pop() {
            Some(error) if !some_hope => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Looks at all interfaces, and makes of them what they should be. Tells why some refuse.
    async fn look(&mut self, mode: Mode, filter: &mut Filter) -> Result<Vec<KernelError>, KernelError> {
        self.looked = clock::instant();
        let there = interface::all().await?;
        let mut refused = Vec::new();
        for one in &mut self.watched {
            one.look_for_gap(&there, filter);
            if let State::Waiting { .. } = one.state {
                refused.extend(one.try_to_attach(&there, mode, filter));
            }
        }
        Ok(refused)
    }

    /// Looks at all interfaces; where even that fails, it is tried again.
    pub async fn look_again(&mut self, mode: Mode, filter: &mut Filter) -> Vec<KernelError> {
        self.look(mode, filter).await.unwrap_or_else(|error| {
            error!("{}", error.explain());
            vec![error]
        })
    }

    /// Watches these, and nothing else.
    pub fn follow(&mut self, names: Vec<String>, filter: &mut Filter) -> Result<(), KernelError> {
        let (stay, go): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.watched).into_iter().partition(|one| names.contains(&one.name));
        self.watched = stay;
        for one in go {
            filter.detach(&one.name)?;
            info!("{}: detached", one.name);
        }
        for name in names {
            if self.watched.iter().all(|one| one.name != name) {
                self.watched.push(Watched::new(name));
            }
        }
        Ok(())
    }

    /// Everything has been taken off them.
    pub fn forget(&mut self) {
        for one in self.watched.drain(..).filter(|one| one.attached().is_some()) {
            info!("{}: detached", one.name);
        }
    }

    /// How long until an interface is tried again that refused.
    pub fn until_due(&self) -> Option<Duration> {
        let refuses = |one: &Watched| matches!(one.state, State::Waiting { is_there: true, .. });
        self.watched.iter().any(refuses).then(|| RETRY.saturating_sub(self.looked.elapsed()))
    }
}

impl Watched {
    /// Is what was attached still filtered?
    fn look_for_gap(&mut self, there: &[Interface], filter: &mut Filter) {
        let State::Attached(attached, place) = &mut self.state else { return };
        let name = &self.name;
        let of_number = there.iter().find(|interface| interface.index == attached.index);
        let of_name = there.iter().find(|interface| interface.name == *name);
        let is_ours =
            |found: &Interface| found.occupant.as_ref().is_some_and(|found| found.id == attached.program);
        if of_number.is_some_and(|interface| interface.name == *name && is_ours(interface)) {
            *place = Where::Here;
            return;
        }
        let is_alive = filter.whereabouts(name).unwrap_or_default().is_some();
        if is_alive && of_name.is_none() {
            let now = of_number.map_or(Where::Moved, |interface| Where::Renamed(interface.name.clone()));
            if *place != now {
                match &now {
                    Where::Renamed(new) => info!("{name} is called {new} now, and is still filtered"),
                    Where::Moved | Where::Here => {
                        info!("{name} was moved to another network namespace, and is still filtered there");
                    }
                }
                *place = now;
            }
            return;
        }
        if is_alive {
            warn!("another interface is called {name} now: it is filtered, and the one before no longer");
        } else {
            error!("{name} is gone: it is attached to again when it comes back");
        }
        if let Err(error) = filter.detach(name) {
            error!("{}", error.explain());
        }
        let why = format!("there is no interface {name}");
        self.state = State::Waiting { since: clock::instant(), why, is_there: false };
        self.gaps += 1;
    }

    fn try_to_attach(&mut self, there: &[Interface], mode: Mode, filter: &mut Filter) -> Option<KernelError> {
        let State::Waiting { since, why, is_there } = &mut self.state else { return None };
        let name = &self.name;
        let Some(interface) = there.iter().find(|interface| interface.name == *name) else {
            if why.is_empty() {
                let names: Vec<_> = there.iter().map(|interface| interface.name.as_str()).collect();
                warn!(
                    "{name} is not there yet: it is attached to when it appears (there are {})",
                    names.join(", ")
                );
                *why = format!("there is no interface {name}");
            }
            *is_there = false;
            return None;
        };
        match filter.attach(interface.clone(), mode) {
            Ok(attached) => {
                let gap = since.elapsed();
                if !why.is_empty() {
                    warn!("{name}: attached after {} without protection", seconds(gap));
                }
                if self.gaps > 0 {
                    self.unprotected += gap;
                }
                self.state = State::Attached(attached, Where::Here);
                None
            }
            Err(error) => {
                *is_there = true;
                let reason = error.explain().to_string();
                if *why != reason {
                    error!("{reason}");
                    *why = reason;
                }
                Some(error)
            }
        }
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.3} s", time.as_secs_f64())
}
