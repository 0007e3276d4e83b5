//! The interfaces that are to be filtered, whether they are there or not: attached when they appear, and again when they
//! come back, with the time between counted and told.

use std::time::{Duration, Instant};

use tracing::{error, info, warn};

use super::error::DaemonError;
use super::owner::Owner;
use crate::control::wire::status;
use crate::kernel::{Attached, Interface, KernelError, interface};

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
        let state = State::Waiting { since: Instant::now(), why: String::new(), is_there: false };
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
}

impl Owner {
    /// Attaches to every interface of the command line and the configuration that is there. Those that are not there yet are
    /// waited for; if all that are there refuse, filterd does not start.
    pub async fn attach(&mut self) -> Result<(), DaemonError> {
        self.follow_wanted()?;
        if self.interfaces.is_empty() {
            return Err(DaemonError::NoInterface);
        }
        let mut refused = self.look().await?;
        let some_hope = self.interfaces.iter().any(|watched| {
            matches!(watched.state, State::Attached(..) | State::Waiting { is_there: false, .. })
        });
        match refused.pop() {
            Some(error) if !some_hope => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Looks at all interfaces, and makes of them what they should be. Tells why some refuse.
    pub(super) async fn look(&mut self) -> Result<Vec<KernelError>, KernelError> {
        self.looked = Instant::now();
        let there = interface::all().await?;
        let mut watched = std::mem::take(&mut self.interfaces);
        let mut refused = Vec::new();
        for one in &mut watched {
            self.look_for_gap(one, &there);
            if let State::Waiting { .. } = one.state {
                refused.extend(self.try_to_attach(one, &there));
            }
        }
        self.interfaces = watched;
        Ok(refused)
    }

    /// Guards what the command line and the configuration name, and nothing else.
    pub(super) fn follow_wanted(&mut self) -> Result<(), KernelError> {
        let mut names = self.run.interfaces.clone();
        names.extend(
            self.config.interfaces.iter().filter(|name| !self.run.interfaces.contains(name)).cloned(),
        );
        let (stay, go): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.interfaces).into_iter().partition(|one| names.contains(&one.name));
        self.interfaces = stay;
        for one in go {
            self.filter.detach(&one.name)?;
            info!("{}: detached", one.name);
        }
        for name in names {
            if self.interfaces.iter().all(|one| one.name != name) {
                self.interfaces.push(Watched::new(name));
            }
        }
        Ok(())
    }

    /// How long until an interface is tried again that refused.
    pub(super) fn until_retry(&self) -> Option<Duration> {
        let refuses = |one: &Watched| matches!(one.state, State::Waiting { is_there: true, .. });
        self.interfaces.iter().any(refuses).then(|| RETRY.saturating_sub(self.looked.elapsed()))
    }

    /// Is what was attached still filtered?
    fn look_for_gap(&mut self, one: &mut Watched, there: &[Interface]) {
        let State::Attached(attached, place) = &mut one.state else { return };
        let name = &one.name;
        let of_number = there.iter().find(|interface| interface.index == attached.index);
        let of_name = there.iter().find(|interface| interface.name == *name);
        if of_number.is_some_and(|interface| interface.name == *name) {
            *place = Where::Here;
            return;
        }
        let is_alive = self.filter.whereabouts(name).unwrap_or_default().is_some();
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
        if let Err(error) = self.filter.detach(name) {
            error!("{error}");
        }
        let why = format!("there is no interface {name}");
        one.state = State::Waiting { since: Instant::now(), why, is_there: false };
        one.gaps += 1;
    }

    fn try_to_attach(&mut self, one: &mut Watched, there: &[Interface]) -> Option<KernelError> {
        let State::Waiting { since, why, is_there } = &mut one.state else { return None };
        let name = &one.name;
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
        let mode = self.run.mode.unwrap_or(self.config.mode);
        match self.filter.attach(interface.clone(), mode) {
            Ok(attached) => {
                let gap = since.elapsed();
                if !why.is_empty() {
                    warn!("{name}: attached after {} without protection", seconds(gap));
                }
                if one.gaps > 0 {
                    one.unprotected += gap;
                }
                one.state = State::Attached(attached, Where::Here);
                None
            }
            Err(error) => {
                *is_there = true;
                let reason = error.to_string();
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
