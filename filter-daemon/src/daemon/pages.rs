//! What is too much for one turn is done page by page, and others are served between any two pages.

use std::collections::VecDeque;
use std::time::Duration;

use super::capacity::Capacity;
use super::commit::Protection;
use super::persistence::Persistence;

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

/// All requests that are under way, each in its turn.
#[derive(Default)]
pub struct Pages {
    works: VecDeque<Box<dyn Work>>,
    /// So many of them have said that they wait since anything else happened.
    waiting: usize,
}

impl Pages {
    /// Something new is to be done.
    pub fn push(&mut self, work: impl Work + 'static) {
        self.works.push_back(Box::new(work));
        self.waiting = 0;
    }

    /// Is there a page to be done now?
    pub fn are_due(&self) -> bool {
        self.waiting < self.works.len()
    }

    /// Is nothing under way?
    pub fn is_empty(&self) -> bool {
        self.works.is_empty()
    }

    /// Something has happened for which somebody may have waited.
    pub fn wake(&mut self) {
        self.waiting = 0;
    }

    /// How often those who wait are to be asked again whether there is anything else to wait for.
    pub fn poll(&self) -> Option<Duration> {
        (self.waiting > 0).then_some(POLL)
    }

    /// Does a page of the first that is due.
    pub fn turn(&mut self, parts: &mut Parts<'_>) {
        let Some(mut work) = self.works.pop_front() else { return };
        let turn = work.turn(parts);
        self.waiting = if turn == Turn::Wait { self.waiting + 1 } else { 0 };
        if turn != Turn::Done {
            self.works.push_back(work);
        }
    }
}

/// One thing under way, whose maker wants it back when it is done.
pub struct Slot<W> {
    work: Option<W>,
    waits: bool,
}

impl<W: Work> Slot<W> {
    /// Nothing.
    pub const fn empty() -> Self {
        Self { work: None, waits: false }
    }

    /// Begins this.
    pub fn begin(&mut self, work: W) {
        *self = Self { work: Some(work), waits: false };
    }

    /// What is under way.
    pub fn get(&self) -> Option<&W> {
        self.work.as_ref()
    }

    /// Is there a page to be done now?
    pub fn is_due(&self) -> bool {
        self.work.is_some() && !self.waits
    }

    /// Something has happened for which it may have waited.
    pub fn wake(&mut self) {
        self.waits = false;
    }

    /// How often it is to be asked again whether there is anything else to wait for, if it waits.
    pub fn poll(&self) -> Option<Duration> {
        self.waits.then_some(POLL)
    }

    /// Does a page, if one is due. Gives back what has come to its end.
    pub fn turn(&mut self, parts: &mut Parts<'_>) -> Option<W> {
        let work = self.work.as_mut().filter(|_| !self.waits)?;
        match work.turn(parts) {
            Turn::More => None,
            Turn::Wait => {
                self.waits = true;
                None
            }
            Turn::Done => self.work.take(),
        }
    }
}
