//! What is too much for one turn is done page by page, and others are served between any two pages.

use std::collections::VecDeque;
use std::time::Duration;

use super::capacity::Capacity;
use super::commit::Protection;
use super::persistence::Persistence;
use super::reload::Reload;

/// Whoever waits is asked again so soon, should nothing else happen.
const POLL: Duration = Duration::from_millis(100);

/// What a page may need of the owner's parts.
pub struct Parts<'a> {
    pub protection: &'a mut Protection,
    pub capacity: &'a mut Capacity,
    pub persistence: &'a mut Persistence,
}

/// What became of a turn.
#[derive(Debug, PartialEq, Eq)]
pub enum Turn {
    /// More is to be done.
    More,
    /// Nothing can be done until something else has happened.
    Wait,
    /// It is done, and answered.
    Done,
}

/// Something that takes several turns.
pub trait Work: Send {
    /// Does the next page.
    fn turn(&mut self, parts: &mut Parts<'_>) -> Turn;
}

/// All that is under way, each in its turn.
#[derive(Default)]
pub struct Pages {
    works: VecDeque<Box<dyn Work>>,
    /// So many of them have said that they wait since anything else happened.
    waiting: usize,
    reload: Option<Reload>,
    reload_waits: bool,
}

impl Pages {
    /// Something new is to be done.
    pub fn push(&mut self, work: impl Work + 'static) {
        self.works.push_back(Box::new(work));
        self.waiting = 0;
    }

    /// A reload begins. There is one at a time.
    pub fn begin(&mut self, reload: Reload) {
        self.reload = Some(reload);
        self.reload_waits = false;
    }

    /// The reload under way.
    pub fn reload(&self) -> Option<&Reload> {
        self.reload.as_ref()
    }

    /// Is there a page to be done now?
    pub fn are_due(&self) -> bool {
        self.waiting < self.works.len() || self.reload.is_some() && !self.reload_waits
    }

    /// How long until somebody who waits is to be asked again whether there is anything else to wait for.
    pub fn until_due(&self) -> Option<Duration> {
        let waits = self.waiting > 0 || self.reload_waits;
        waits.then_some(POLL)
    }

    /// Something has happened for which somebody may have waited.
    pub fn wake(&mut self) {
        self.waiting = 0;
        self.reload_waits = false;
    }

    /// Does a page of each that is due. Gives back the reload that has come to its end.
    pub fn turn(&mut self, parts: &mut Parts<'_>) -> Option<Reload> {
        if self.waiting < self.works.len()
            && let Some(mut work) = self.works.pop_front()
        {
            match work.turn(parts) {
                Turn::More => {
                    self.works.push_back(work);
                    self.waiting = 0;
                }
                Turn::Wait => {
                    self.works.push_back(work);
                    self.waiting += 1;
                }
                Turn::Done => self.waiting = 0,
            }
        }
        let reload = self.reload.as_mut().filter(|_| !self.reload_waits)?;
        match reload.turn(parts) {
            Turn::More => None,
            Turn::Wait => {
                self.reload_waits = true;
                None
            }
            Turn::Done => self.reload.take(),
        }
    }
}
