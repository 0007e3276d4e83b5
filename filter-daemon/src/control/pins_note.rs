//! Where a daemon keeps its pins, noted in the lock file beside its socket: whoever finds nobody at the socket can tell
//! whether the filter was left at work. Beside it stands whether live entries were lost, where nothing in the state directory
//! can say it, since that was removed or its disk takes nothing; whether a reload is on trial; and that the filter is attached,
//! so that a start that finds none knows that it was taken off meanwhile. The file is open from the beginning.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use nix::fcntl::OFlag;

use crate::lock::Holder;

/// Between the path, since when live entries were not on disk (in seconds since 1970, or nothing), what is said of a trial (or
/// nothing), and where the filter was attached (or nothing). No path has such a character in it.
const END: u8 = b'\0';

/// A path, a number, a word on a trial, and the names of a boot and a network namespace.
const LONGEST: usize = 16 * 1024;

/// What is noted, one thing beside the other.
#[derive(Clone, Debug, Default)]
struct Noted {
    pins: Vec<u8>,
    unsaved: Option<u64>,
    trial: Option<String>,
    attached: Option<String>,
}

/// Notes it, for when this daemon is dead. `unsaved` says since when live entries of an earlier one were not on disk, until
/// that is noted elsewhere. What is noted of a trial stays, and of a filter that is attached, if its pins are these.
pub fn write(claim: &File, pins: &Path, unsaved: Option<u64>) -> io::Result<()> {
    let _alone = alone();
    let pins = std::path::absolute(pins)?.into_os_string().into_vec();
    // One that was opened by an earlier filterd cannot be read.
    let before = Noted::of(&read_from(claim).unwrap_or_default());
    let attached = before.attached.filter(|_| before.pins == pins);
    Noted { pins, unsaved, trial: before.trial, attached }.write(claim)
}

/// Notes since when live entries are not on disk, where nothing else can say it, or that all are; what is noted of earlier ones
/// counts from then.
pub fn write_unsaved(claim: &File, since: Option<u64>) -> io::Result<()> {
    let _alone = alone();
    let before = Noted::of(&read_from(claim)?);
    let unsaved = since.map(|since| before.unsaved.map_or(since, |before| before.min(since)));
    Noted { unsaved, ..before }.write(claim)
}

/// Notes what is to be said of a trial if its record in the state directory is not found, or that there is none.
pub fn write_trial(claim: &File, trial: Option<&str>) -> io::Result<()> {
    let _alone = alone();
    Noted { trial: trial.map(str::to_owned), ..Noted::of(&read_from(claim)?) }.write(claim)
}

/// Notes where the filter is attached, or that it is not.
pub fn write_attached(claim: &File, place: Option<&str>) -> io::Result<()> {
    let _alone = alone();
    Noted { attached: place.map(str::to_owned), ..Noted::of(&read_from(claim)?) }.write(claim)
}

/// The filter whose pins these are was taken off, as was wanted.
pub fn detached(socket: &Path, pins: &Path) -> io::Result<()> {
    let Some(noted) = read_all(socket)?.map(|noted| Noted::of(&noted)) else { return Ok(()) };
    if noted.attached.is_none() || noted.pins != std::path::absolute(pins)?.into_os_string().into_vec() {
        return Ok(());
    }
    let flags = (OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits();
    let claim = File::options().read(true).write(true).custom_flags(flags).open(beside(socket))?;
    Noted { attached: None, ..noted }.write(&claim)
}

/// The owner and the journal's thread note things in one file: what the one reads before is what the other has written.
fn alone() -> MutexGuard<'static, ()> {
    static NOTING: Mutex<()> = Mutex::new(());
    NOTING.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Noted {
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

/// What was noted last, if anything was.
pub fn read(socket: &Path) -> io::Result<Option<PathBuf>> {
    let noted = read_all(socket)?.map(|noted| Noted::of(&noted));
    Ok(noted.map(|noted| OsString::from_vec(noted.pins).into()))
}

/// Since when live entries were not on disk when the last one here ended, if it was so.
pub fn unsaved(socket: &Path) -> Option<u64> {
    Noted::of(&read_all(socket).ok()??).unsaved
}

/// What the last one here has noted of a trial, if there was one.
pub fn trial(socket: &Path) -> Option<String> {
    Noted::of(&read_all(socket).ok()??).trial
}

/// Where the filter of the last one here with these pins was attached, if it was, and nobody has said that it is not.
pub fn attached(socket: &Path, pins: &Path) -> Option<String> {
    let noted = Noted::of(&read_all(socket).ok()??);
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
