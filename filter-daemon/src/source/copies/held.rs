//! A copy in hand: open, and so to be read whatever becomes of its name.

use std::fs::File;
use std::io::{self, Seek};

use super::{Copies, CopyError, behind, header, open, whole};
use crate::blocklist::{Accepted, Times};
use crate::clock;
use crate::source::{How, ListFile};

/// The copy of one list.
#[derive(Debug)]
pub struct Held {
    accepted: Accepted,
    file: File,
}

impl Copies {
    /// Takes the copy of this in hand.
    ///
    /// # Errors
    /// When there is none, or it is not what was written.
    pub fn hold(&self, accepted: &Accepted) -> io::Result<Held> {
        let mut file = open(&self.path(accepted))?;
        // What stands there may know of another stamp.
        let accepted = header::read(&mut file, &clock::moment())?;
        Ok(Held { accepted, file })
    }

    /// Makes that copy anew where it is gone.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn put_back(&self, held: &Held) -> Result<(), CopyError> {
        if self.path(&held.accepted).exists() {
            return Ok(());
        }
        let mut file = &held.file;
        file.rewind().map_err(|_| CopyError::Damaged)?;
        let (draft, times) = self.draft_from(file, &held.accepted)?;
        let whole = draft.finish(&held.accepted, times.as_ref(), self.path(&held.accepted))?;
        whole.sync()?;
        whole.take_name()?;
        self.sync()
    }
}

impl Held {
    /// What it is of.
    #[must_use]
    pub fn accepted(&self) -> &Accepted {
        &self.accepted
    }

    /// What it says.
    ///
    /// # Errors
    /// When it cannot be read, or is not what was written.
    pub fn read(&self, how: &How) -> Result<ListFile, CopyError> {
        let mut file = &self.file;
        file.rewind().map_err(|_| CopyError::Damaged)?;
        let (found, list) = whole(file, how)?;
        if found == self.accepted { Ok(list) } else { Err(CopyError::Damaged) }
    }

    /// What it says of when its entries came, and end.
    ///
    /// # Errors
    /// As above.
    pub fn times(&self) -> Result<Option<Times>, CopyError> {
        let mut file = &self.file;
        file.rewind().map_err(|_| CopyError::Damaged)?;
        behind::read_from(file, &self.accepted)
    }
}
