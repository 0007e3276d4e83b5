//! Splits long work into pages, and serves requests between two pages.

use std::collections::VecDeque;
use std::time::Duration;

use super::capacity::Capacity;
use super::commit::Protection;
use super::persistence::Persistence;
use crate::source::reading::SourceReadings;

/// How soon waiting work is checked again if no other event happens.
const POLL: Duration = Duration::from_millis(100);

/// The parts of the owner that a page may need.
pub struct OwnerParts<'a> {
    pub protection: &'a mut Protection,
    pub capacity: &'a mut Capacity,
    pub persistence: &'a mut Persistence,
    pub sources: &'a SourceReadings,
}

/// The result of a turn.
#[derive(Debug, PartialEq, Eq)]
pub enum Turn {
    /// There is more work to do.
    More,
    /// Nothing can be done before another event.
    Wait,
    /// The work is complete and answered.
    Done,
}

/// Work that takes several turns.
pub trait Work: Send {
    /// Does the next page.
    fn turn(&mut self, parts: &mut OwnerParts<'_>) -> Turn;
}

/// All requests under way, which take turns.
#[derive(Default)]
pub struct Pages {
    works: VecDeque<Box<dyn Work>>,
    /// How many of them have waited, one after another, since the last other event.
    waiting: usize,
}

impl Pages {
    /// Adds work at the end of the queue.
    pub fn push(&mut self, work: impl Work + 'static) {
        self.works.push_back(Box::new(work));
        self.waiting = 0;
    }

    /// Whether a page can be done now.
    pub fn are_due(&self) -> bool {
        self.waiting < self.works.len()
    }

    pub fn is_empty(&self) -> bool {
        self.works.is_empty()
    }

    /// Lets waiting work try again after an event.
    pub fn wake(&mut self) {
        self.waiting = 0;
    }

    /// The interval for checking waiting work, if any waits.
    pub fn poll(&self) -> Option<Duration> {
        (self.waiting > 0).then_some(POLL)
    }

    /// Does a page of the first work, and puts it at the end of the queue.
    pub fn turn(&mut self, parts: &mut OwnerParts<'_>) {
        let Some(mut work) = self.works.pop_front() else { return };
        let turn = work.turn(parts);
        self.waiting = if turn == Turn::Wait { self.waiting + 1 } else { 0 };
        if turn != Turn::Done {
            self.works.push_back(work);
        }
    }
}

/// Room for one work, which is returned to its maker when it is done.
pub struct Slot<W> {
    work: Option<W>,
    waits: bool,
}

impl<W: Work> Slot<W> {
    pub const fn empty() -> Self {
        Self { work: None, waits: false }
    }

    pub fn begin(&mut self, work: W) {
        *self = Self { work: Some(work), waits: false };
    }

    /// The work under way.
    pub fn get(&self) -> Option<&W> {
        self.work.as_ref()
    }

    /// Whether a page can be done now.
    pub fn is_due(&self) -> bool {
        self.work.is_some() && !self.waits
    }

    /// Lets the work try again after an event.
    pub fn wake(&mut self) {
        self.waits = false;
    }

    /// The interval for checking the work, if it waits.
    pub fn poll(&self) -> Option<Duration> {
        self.waits.then_some(POLL)
    }

    /// Does a page if one is due. Returns work that is complete.
    pub fn turn(&mut self, parts: &mut OwnerParts<'_>) -> Option<W> {
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
