//! Notes for later processes, in the lock file beside the socket. They hold:
//!
//! - where the pins are, so that a client without a daemon can tell whether the filter was left running;
//! - since when live entries were not on disk, if the state directory cannot record it, because it was
//!   removed or its disk refuses writes;
//! - whether a reload is on trial;
//! - where the filter is attached, so that a start without a filter knows that it was detached meanwhile.
//!
//! The file stays open from the start of the daemon.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use nix::fcntl::OFlag;

use crate::lock::Holder;

/// Separates the fields. No path contains this character.
///
/// The fields are: the path, since when live entries were not on disk (in seconds since 1970), the state of a
/// trial, and where the filter was attached. All but the path may be empty.
const END: u8 = b'\0';

/// Room for a path, a number, the state of a trial, and the names of a boot and a network namespace.
const LONGEST: usize = 16 * 1024;

/// All notes of a file.
#[derive(Clone, Debug, Default)]
struct PinsNote {
    pins: Vec<u8>,
    unsaved: Option<u64>,
    trial: Option<String>,
    attached: Option<String>,
}

/// Writes the notes of a start. `unsaved` says since when live entries of an earlier filterd were not on
/// disk, until that is recorded elsewhere. Notes about a trial stay, and those about an attached filter, if
/// its pins are the same.
pub fn write(claim: &File, pins: &Path, unsaved: Option<u64>) -> io::Result<()> {
    let _alone = alone();
    let pins = std::path::absolute(pins)?.into_os_string().into_vec();
    // A file that an earlier filterd opened cannot be read.
    let before = PinsNote::of(&read_from(claim).unwrap_or_default());
    let attached = before.attached.filter(|_| before.pins == pins);
    PinsNote { pins, unsaved, trial: before.trial, attached }.write(claim)
}

/// Records since when live entries are not on disk, or that all are. An earlier time stays.
pub fn write_unsaved(claim: &File, since: Option<u64>) -> io::Result<()> {
    let _alone = alone();
    let before = PinsNote::of(&read_from(claim)?);
    let unsaved = since.map(|since| before.unsaved.map_or(since, |before| before.min(since)));
    PinsNote { unsaved, ..before }.write(claim)
}

/// Records the state of a trial, or that there is none. It is used if the state directory has no record of
/// the trial.
pub fn write_trial(claim: &File, trial: Option<&str>) -> io::Result<()> {
    let _alone = alone();
    PinsNote { trial: trial.map(str::to_owned), ..PinsNote::of(&read_from(claim)?) }.write(claim)
}

/// Records where the filter is attached, or that it is not.
pub fn write_attached(claim: &File, place: Option<&str>) -> io::Result<()> {
    let _alone = alone();
    PinsNote { attached: place.map(str::to_owned), ..PinsNote::of(&read_from(claim)?) }.write(claim)
}

/// Records that the filter with these pins was detached on purpose.
pub fn detached(socket: &Path, pins: &Path) -> io::Result<()> {
    let Some(noted) = read_all(socket)?.map(|noted| PinsNote::of(&noted)) else { return Ok(()) };
    if noted.attached.is_none() || noted.pins != std::path::absolute(pins)?.into_os_string().into_vec() {
        return Ok(());
    }
    let flags = (OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits();
    let claim = File::options().read(true).write(true).custom_flags(flags).open(beside(socket))?;
    PinsNote { attached: None, ..noted }.write(&claim)
}

/// Locks the file within this process, because the owner and the journal's thread both read and rewrite it.
fn alone() -> MutexGuard<'static, ()> {
    static NOTING: Mutex<()> = Mutex::new(());
    NOTING.lock().unwrap_or_else(PoisonError::into_inner)
}

impl PinsNote {
    fn of(noted: &[u8]) -> Self {
        let mut parts = noted.split(|byte| *byte == END);
        let pins = parts.next().unwrap_or_default().to_vec();
        let mut word =
            || Some(std::str::from_utf8(parts.next()?).ok()?.to_owned()).filter(|word| !word.is_empty());
        let (unsaved, trial, attached) = (word(), word(), word());
        Self { pins, unsaved: unsaved.and_then(|since| since.parse().ok()), trial, attached }
    }

    fn write(self, claim: &File) -> io::Result<()> {
        let words = [self.unsaved.map(|since| since.to_string()), self.trial, self.attached];
        let told = words.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        let mut note = self.pins;
        for word in &words[..told] {
            note.push(END);
            note.extend(word.as_deref().unwrap_or_default().as_bytes());
        }
        claim.write_all_at(&note, 0)?;
        claim.set_len(note.len() as u64)
    }
}

fn read_from(claim: &File) -> io::Result<Vec<u8>> {
    let mut noted = vec![0; LONGEST];
    let length = claim.read_at(&mut noted, 0)?;
    noted.truncate(length);
    Ok(noted)
}

/// The pin directory that was recorded last, if any.
pub fn read(socket: &Path) -> io::Result<Option<PathBuf>> {
    let noted = read_all(socket)?.map(|noted| PinsNote::of(&noted));
    Ok(noted.map(|noted| OsString::from_vec(noted.pins).into()))
}

/// Since when live entries were not on disk when the last filterd here ended, if that was so.
pub fn unsaved(socket: &Path) -> Option<u64> {
    PinsNote::of(&read_all(socket).ok()??).unsaved
}

/// The last record of a trial, if there was one.
pub fn trial(socket: &Path) -> Option<String> {
    PinsNote::of(&read_all(socket).ok()??).trial
}

/// The place where the last filterd with these pins had its filter attached, unless it was detached since.
pub fn attached(socket: &Path, pins: &Path) -> Option<String> {
    let noted = PinsNote::of(&read_all(socket).ok()??);
    let is_there = noted.pins == std::path::absolute(pins).ok()?.into_os_string().into_vec();
    noted.attached.filter(|_| is_there)
}

fn read_all(socket: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(beside(socket)) {
        Ok(noted) if noted.starts_with(b"/") => Ok(Some(noted)),
        Ok(_) => Ok(None),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The process that holds the place of this socket, if this user may see it.
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
    fn noting_one_thing_keeps_the_others() {
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
        write_attached(&claim, Some("this boot")).unwrap();
        assert_eq!(attached(&socket, pins).as_deref(), Some("this boot"));
        write_trial(&claim, None).unwrap();
        assert_eq!(told(), (pins.to_owned(), None, None));
        for (since, is_noted) in [(Some(9), Some(9)), (Some(8), Some(8)), (Some(10), Some(8)), (None, None)] {
            write_unsaved(&claim, since).unwrap();
            assert_eq!(told(), (pins.to_owned(), is_noted, None));
        }
        detached(&socket, Path::new("/sys/fs/bpf/other")).unwrap();
        assert_eq!(attached(&socket, pins).as_deref(), Some("this boot"), "another one's was taken off");
        detached(&socket, pins).unwrap();
        assert_eq!(attached(&socket, pins), None);
        assert_eq!(fs::read(beside(&socket)).unwrap(), pins.as_os_str().as_encoded_bytes());
    }
}
