//! What was found wrong with pins and the judge's slot while they were put right, until somebody is told.

use std::fs;
use std::path::{Path, PathBuf};

use super::super::{KernelError, Tampering};

/// More than so many are not remembered: whoever does so much is noticed by these.
const MOST: usize = 16;

/// What is to be told.
#[derive(Debug)]
pub struct Mending {
    /// Where the pins are.
    directory: PathBuf,
    tampered: Vec<Tampering>,
}

impl Mending {
    /// Nothing yet, of the pins in this directory.
    pub fn of(directory: &Path) -> Self {
        Self { directory: directory.to_owned(), tampered: Vec::new() }
    }

    /// Is something to be pinned at `path`, whose number is `ours`? Then nothing is there any more, and it is noted why.
    pub fn make_place(
        &mut self,
        path: &Path,
        ours: u32,
        there: impl FnOnce() -> Result<u32, KernelError>,
    ) -> Result<bool, KernelError> {
        let Ok(found) = fs::symlink_metadata(path) else {
            self.note_missing();
            return Ok(true);
        };
        if !found.is_symlink() && there()? == ours {
            return Ok(false);
        }
        fs::remove_file(path).map_err(|error| KernelError::load("remove a pin that is not ours", error))?;
        self.note(Tampering::Pin(path.to_owned()));
        Ok(true)
    }

    /// Some of the pins were not there.
    pub fn note_missing(&mut self) {
        self.note(Tampering::PinsGone(self.directory.clone()));
    }

    /// Notes it, once.
    pub fn note(&mut self, tampering: Tampering) {
        if !self.tampered.contains(&tampering) && self.tampered.len() < MOST {
            self.tampered.push(tampering);
        }
    }

    /// All of it, for whoever tells it.
    pub fn take(&mut self) -> Vec<Tampering> {
        std::mem::take(&mut self.tampered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_noted_is_noted_once_and_bounded() {
        let mut mending = Mending::of(Path::new("/sys/fs/bpf/filterd"));
        (0..2).for_each(|_| mending.note(Tampering::Slot(None)));
        assert_eq!(mending.take(), [Tampering::Slot(None)]);
        (0..100).for_each(|program| mending.note(Tampering::Slot(Some(program))));
        assert_eq!(mending.take().len(), MOST);
        assert_eq!(mending.take(), []);
    }
}
