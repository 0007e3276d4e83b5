//! Where a daemon keeps its pins, noted in the lock file beside its socket: whoever finds nobody at the socket can tell
//! whether the filter was left at work. Beside it stands whether live entries were lost, where nothing in the state directory
//! can say it, since that was removed or its disk takes nothing; and whether a reload is on trial. The file is open from the
//! beginning, so neither matters.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::lock::Holder;

/// Between the path, since when live entries were not on disk (in seconds since 1970, or nothing), and what is said of a
/// trial. No path has such a character in it.
const END: u8 = b'\0';

/// A path, a number, and a word on a trial.
const LONGEST: usize = 16 * 1024;

/// Notes it, for when this daemon is dead. `unsaved` says since when live entries of an earlier one were not on disk, until
/// that is noted elsewhere. What is noted of a trial stays.
pub fn write(claim: &File, pins: &Path, unsaved: Option<u64>) -> io::Result<()> {
    let note = std::path::absolute(pins)?.into_os_string().into_vec();
    // One that was opened by an earlier filterd cannot be read.
    let before = read_from(claim).unwrap_or_default();
    store(claim, &note, unsaved, trial_in(&before))
}

/// Notes what is to be said of a trial if its record in the state directory is not found, or that there is none.
pub fn write_trial(claim: &File, trial: Option<&str>) -> io::Result<()> {
    let before = read_from(claim)?;
    let pins = before.split(|byte| *byte == END).next().unwrap_or_default();
    store(claim, pins, unsaved_in(&before), trial)
}

fn store(claim: &File, pins: &[u8], unsaved: Option<u64>, trial: Option<&str>) -> io::Result<()> {
    let mut note = pins.to_vec();
    if unsaved.is_some() || trial.is_some() {
        let unsaved = unsaved.map_or_else(String::new, |since| since.to_string());
        note.extend([&[END], unsaved.as_bytes()].concat());
    }
    note.extend(trial.into_iter().flat_map(|trial| [&[END], trial.as_bytes()].concat()));
    claim.write_all_at(&note, 0)?;
    claim.set_len(note.len() as u64)
}

fn read_from(claim: &File) -> io::Result<Vec<u8>> {
    let mut noted = vec![0; LONGEST];
    let length = claim.read_at(&mut noted, 0)?;
    noted.truncate(length);
    Ok(noted)
}

fn unsaved_in(noted: &[u8]) -> Option<u64> {
    std::str::from_utf8(noted.split(|byte| *byte == END).nth(1)?).ok()?.parse().ok()
}

fn trial_in(noted: &[u8]) -> Option<&str> {
    std::str::from_utf8(noted.split(|byte| *byte == END).nth(2)?).ok()
}

/// What was noted last, if anything was.
pub fn read(socket: &Path) -> io::Result<Option<PathBuf>> {
    let Some(noted) = read_all(socket)? else { return Ok(None) };
    let pins = noted.split(|byte| *byte == END).next().unwrap_or_default();
    Ok(Some(OsString::from_vec(pins.to_vec()).into()))
}

/// Since when live entries were not on disk when the last one here ended, if it was so.
pub fn unsaved(socket: &Path) -> Option<u64> {
    unsaved_in(&read_all(socket).ok()??)
}

/// What the last one here has noted of a trial, if there was one.
pub fn trial(socket: &Path) -> Option<String> {
    trial_in(&read_all(socket).ok()??).map(str::to_owned)
}

fn read_all(socket: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(beside(socket)) {
        Ok(noted) if noted.starts_with(b"/") => Ok(Some(noted)),
        Ok(_) => Ok(None),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The filterd that has the place of this socket, as far as we may see that.
pub fn whose(socket: &Path) -> Option<u32> {
    Holder::of(&beside(socket)).map(|holder| holder.pid)
}

fn beside(socket: &Path) -> PathBuf {
    let mut name = socket.as_os_str().to_owned();
    name.push(".lock");
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_noted_of_one_thing_leaves_the_others() {
        let place = tempfile::tempdir().unwrap();
        let socket = place.path().join("control.sock");
        let mut how = File::options();
        let claim = how.create(true).truncate(true).read(true).write(true).open(beside(&socket)).unwrap();
        assert_eq!((read(&socket).unwrap(), unsaved(&socket), trial(&socket)), (None, None, None));
        let pins = Path::new("/sys/fs/bpf/filterd");
        let told = || (read(&socket).unwrap().unwrap(), unsaved(&socket), trial(&socket));
        write(&claim, pins, Some(7)).unwrap();
        write_trial(&claim, Some("trial alice (filterd reload)")).unwrap();
        assert_eq!(told(), (pins.to_owned(), Some(7), Some("trial alice (filterd reload)".to_owned())));
        write(&claim, pins, None).unwrap();
        assert_eq!(told(), (pins.to_owned(), None, Some("trial alice (filterd reload)".to_owned())));
        write_trial(&claim, None).unwrap();
        assert_eq!(told(), (pins.to_owned(), None, None));
        assert_eq!(fs::read(beside(&socket)).unwrap(), pins.as_os_str().as_encoded_bytes());
    }
}
