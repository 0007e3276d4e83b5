//! What lists were before: their last good copies, and what a filterd that runs has of them.

use crate::config::List;
use crate::control::wire::entry::LIVE;
use crate::control::wire::status::ListStatus;
use crate::source::trouble::Instead;
use crate::source::{Accepted, Copies};

/// All of them.
pub struct Known {
    copies: Copies,
    found: Vec<Accepted>,
    running: Vec<ListStatus>,
    is_hidden: bool,
}

/// What one list was.
#[derive(Clone, Copy)]
pub enum Before<'a> {
    /// What its copy says.
    Copy(&'a Accepted),
    /// What is in force.
    Running(&'a ListStatus),
    /// Nothing.
    Nothing,
    /// Whoever asks may not see it.
    Hidden,
}

impl Known {
    /// These copies, and the lists of the filterd that runs.
    pub fn of(copies: Copies, running: Vec<ListStatus>) -> Self {
        let found = copies.find();
        Self { copies, running, is_hidden: found.is_hidden, found: found.copies }
    }

    /// What this list was: known by name and path, by path, or by name, as a reload knows it.
    pub fn before(&self, list: &List) -> Before<'_> {
        let is_called = |copy: &&Accepted| *copy.name == *list.name.as_str();
        let is_there = |copy: &&Accepted| copy.path == list.path;
        let of_both = self.found.iter().filter(is_called).find(is_there);
        let copy = of_both.or(self.found.iter().find(is_there)).or(self.found.iter().find(is_called));
        copy.map_or_else(|| self.without_copy(list), Before::Copy)
    }

    /// What it was, if there is no copy of it, or a damaged one.
    pub fn without_copy(&self, list: &List) -> Before<'_> {
        let is_it = |running: &&ListStatus| running.name == list.name.as_str() && running.kind != LIVE;
        match self.running.iter().find(is_it) {
            Some(running) => Before::Running(running),
            None if self.is_hidden => Before::Hidden,
            None => Before::Nothing,
        }
    }

    /// Can all of this copy be read?
    pub fn is_good(&self, copy: &Accepted) -> bool {
        self.copies.read(copy).is_ok()
    }
}

impl Before<'_> {
    /// How many targets it had.
    pub fn entries(self) -> Option<u64> {
        match self {
            Self::Copy(copy) => Some(copy.entries),
            Self::Running(list) => Some(list.targets),
            Self::Nothing | Self::Hidden => None,
        }
    }

    /// What would be in force.
    pub fn instead(self) -> Instead {
        match self {
            Self::Copy(copy) => copy.into(),
            Self::Running(ListStatus { targets, read: Some(read), .. }) => Instead::Good(*targets, *read),
            Self::Running(ListStatus { targets: 0, .. }) | Self::Nothing => Instead::Nothing,
            Self::Running(list) => Instead::Stays(list.targets),
            Self::Hidden => Instead::Hidden,
        }
    }
}
