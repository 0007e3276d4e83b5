//! Records which pins were wrong, and whether the judge's slot was, until the daemon asks for it.

use std::fs;
use std::path::{Path, PathBuf};

use super::super::{KernelError, Tampering};

/// The most records. An attacker who makes more changes is noticed by these.
const MOST: usize = 16;

#[derive(Debug)]
pub struct TamperingLog {
    /// The directory of the pins.
    directory: PathBuf,
    tampered: Vec<Tampering>,
}

impl TamperingLog {
    pub fn of(directory: &Path) -> Self {
        Self { directory: directory.to_owned(), tampered: Vec::new() }
    }

    /// Checks whether object `ours` must be pinned at `path` again. If so, removes any other object there and
    /// records why.
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

    /// Records that pins were missing.
    pub fn note_missing(&mut self) {
        self.note(Tampering::PinsGone(self.directory.clone()));
    }

    /// Records a change by others, once.
    pub fn note(&mut self, tampering: Tampering) {
        if !self.tampered.contains(&tampering) && self.tampered.len() < MOST {
            self.tampered.push(tampering);
        }
    }

    /// Returns all records and clears them.
    pub fn take(&mut self) -> Vec<Tampering> {
        std::mem::take(&mut self.tampered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_recorded_once_and_bounded() {
        let mut mending = TamperingLog::of(Path::new("/sys/fs/bpf/filterd"));
        (0..2).for_each(|_| mending.note(Tampering::Slot(None)));
        assert_eq!(mending.take(), [Tampering::Slot(None)]);
        (0..100).for_each(|program| mending.note(Tampering::Slot(Some(program))));
        assert_eq!(mending.take().len(), MOST);
        assert_eq!(mending.take(), []);
    }
}
