//! What lists were before: their last good copies, and what a filterd that runs has of them.

use std::io::ErrorKind;

use crate::clock;
use crate::config::List;
use crate::control::wire::entry::LIVE;
use crate::control::wire::status::ListStatus;
use crate::source::copies::CopyError;
use crate::source::limits::SizeBefore;
use crate::source::trouble::Instead;
use crate::source::{Accepted, Copies, How};

/// All of them.
pub struct Known {
    copies: Copies,
    found: Vec<Accepted>,
    running: Vec<ListStatus>,
    is_hidden: bool,
    /// A copy is damaged where it says what it is of.
    has_lost_one: bool,
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
    /// These copies, as far as we may see them now.
    pub fn of(copies: Copies) -> Self {
        let found = copies.find();
        let has_lost_one = !found.damaged.is_empty();
        Self { copies, running: Vec::new(), is_hidden: found.is_hidden, found: found.copies, has_lost_one }
    }

    /// And the lists of a filterd that runs.
    pub fn with(self, running: Vec<ListStatus>) -> Self {
        Self { running, ..self }
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

    /// What would be in force instead of a list that was this.
    pub fn instead(&self, before: Before<'_>) -> Instead {
        let instead = before.instead();
        if instead == Instead::Nothing && self.has_lost_one { Instead::Lost } else { instead }
    }

    /// How long a list was that was this.
    pub fn size_of(&self, before: Before<'_>) -> Option<SizeBefore> {
        match before {
            Before::Copy(copy) => Some(SizeBefore {
                entries: copy.entries,
                largest: copy.peaks.largest(clock::now()),
                has_open_end: self.copies.has_open_end(copy),
            }),
            Before::Running(list) => before.entries().map(|entries| SizeBefore {
                entries,
                largest: list.largest.unwrap_or(0),
                has_open_end: None,
            }),
            Before::Nothing | Before::Hidden => None,
        }
    }

    /// Returns whether a start could take the copy of this list.
    pub fn has_good_copy(&self, list: &List) -> bool {
        matches!(self.before(list), Before::Copy(copy) if self.is_good(copy))
    }

    /// Is this copy what was written, as far as we may see? A filterd that starts gives its user what root's has left.
    pub fn is_good(&self, copy: &Accepted) -> bool {
        match self.copies.read(copy, &How::default()) {
            Ok(_) => true,
            Err(CopyError::System { source, .. }) => source.kind() == ErrorKind::PermissionDenied,
            Err(CopyError::Damaged | CopyError::Full { .. } | CopyError::Gone) => false,
        }
    }
}

impl Before<'_> {
    /// How many targets it had.
    pub fn entries(self) -> Option<u64> {
        match self {
            Self::Copy(copy) => Some(copy.entries),
            Self::Running(list) => Some(list.targets).filter(|targets| *targets > 0 || list.read.is_some()),
            Self::Nothing | Self::Hidden => None,
        }
    }

    /// Did it allow, as far as that is known?
    pub fn allows(self) -> Option<bool> {
        match self {
            Self::Copy(copy) => copy.meaning.map(|meaning| meaning.allows()),
            Self::Running(list) => Some(list.allows),
            Self::Nothing | Self::Hidden => None,
        }
    }

    /// What would be in force.
    fn instead(self) -> Instead {
        match self {
            Self::Copy(copy) => copy.into(),
            Self::Running(ListStatus { targets, read: Some(read), .. }) => Instead::Good(*targets, *read),
            Self::Running(ListStatus { targets: 0, .. }) | Self::Nothing => Instead::Nothing,
            Self::Running(list) => Instead::Stays(list.targets),
            Self::Hidden => Instead::Hidden,
        }
    }
}
