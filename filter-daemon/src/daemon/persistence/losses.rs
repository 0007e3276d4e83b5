//! Live entries that a start did not find. A loss outlasts one run: it is recorded in a file beside the
//! journal, and `status` shows it until someone acknowledges it.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;
use tracing::error;

use crate::blocklist::Timestamp;
use crate::control::wire::{About, Fault};
use crate::daemon::notices::id_of;
use crate::journal::{JournalDamage, JournalFindings, Replacement};
use crate::text::{Explanation, date, printable};

/// The name shows that it belongs to the journal.
const FILE: &str = "live.redb.lost";

/// The most losses that `status` shows.
const MOST: usize = 4;

/// The most bytes read from the file.
const LONGEST: u64 = 64 * 1024;

/// Losses that this start or an earlier one found.
pub struct Losses {
    note: PathBuf,
    known: Vec<Loss>,
    /// False if the file could not be written, so that only this process knows the losses.
    is_noted: bool,
}

/// The loss found at one start.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Loss {
    /// In seconds since 1970.
    since: u64,
    what: String,
}

impl Losses {
    /// The losses recorded in `directory`, and those that this start found. `left_at_work` says that an
    /// earlier filter was still attached.
    pub fn of(directory: &Path, found: &JournalFindings, left_at_work: bool, now: Timestamp) -> Self {
        let note = directory.join(FILE);
        let mut known = read(&note);
        let new = told(directory, found, left_at_work).into_iter();
        let new = new.map(|what| Loss { since: now.secs(), what: printable::line(&what).into_owned() });
        // A row that cannot be read is found again at every start.
        let new: Vec<_> = new.filter(|loss| known.iter().all(|known| known.what != loss.what)).collect();
        let is_noted = match append(&note, &new) {
            Ok(()) => true,
            Err(error) => {
                error!("cannot store in {} what was lost: {error}", printable::path(&note));
                false
            }
        };
        known.extend(new);
        Self { note, known, is_noted }
    }

    /// Whether the next start will know of all losses.
    pub const fn are_noted(&self) -> bool {
        self.is_noted
    }

    /// Tries again to record the losses. Returns true if that succeeded only now.
    pub fn note_again(&mut self) -> bool {
        let is_new = !self.is_noted && write(&self.note, &self.known).is_ok();
        self.is_noted |= is_new;
        is_new
    }

    /// The losses that were neither acknowledged nor removed together with the file.
    pub fn notices(&self) -> impl ExactSizeIterator<Item = Fault> {
        let is_read = self.is_noted && !self.note.exists();
        let known = if is_read { &[] } else { &self.known[..] };
        known.iter().map(|loss| self.notice(loss))
    }

    /// The newest losses: an operator needs only a few to take a look.
    pub fn faults(&self) -> impl Iterator<Item = Fault> {
        let notices = self.notices();
        let older = notices.len().saturating_sub(MOST);
        notices.skip(older)
    }

    /// Forgets these losses, in memory and in the file.
    pub fn acknowledge(&mut self, is_meant: impl Fn(&Fault) -> bool) -> Result<(), Explanation> {
        let is_left = |loss: &&Loss| !is_meant(&self.notice(loss));
        let left: Vec<Loss> = self.known.iter().filter(is_left).cloned().collect();
        if left.len() == self.known.len() {
            return Ok(());
        }
        self.known = left;
        let written = write(&self.note, &self.known);
        self.is_noted = written.is_ok();
        written.map_err(|error| {
            let note = printable::path(&self.note);
            let message =
                format!("acknowledged, but the next start will show it again: cannot change {note}: {error}");
            Explanation::new(message, "make the state directory writable, then remove that file")
        })
    }

    fn notice(&self, loss: &Loss) -> Fault {
        let id = id_of(loss.since, &loss.what);
        let unnoted = match self.is_noted {
            true => String::new(),
            false => {
                let note = printable::path(&self.note);
                format!("\nit is not stored in {note} yet, so a later start may not show it; filterd retries")
            }
        };
        let remedy = format!("repeat the lost changes, then end this notice: filterd ack {id}{unnoted}");
        let told = Explanation::new(&*loss.what, remedy);
        Fault { about: About::Durability, since: loss.since, told, id: Some(id) }
    }
}

/// Describes the losses that this start found.
fn told(directory: &Path, found: &JournalFindings, left_at_work: bool) -> Vec<String> {
    let mut told: Vec<_> = found.damage.iter().map(told_damage).collect();
    if found.is_new && left_at_work {
        told.push(format!(
            "the filter of an earlier filterd was attached, but the state directory {} had no journal: live entries, if there were any, are no longer blocked",
            printable::path(directory)
        ));
    }
    if let Some(since) = found.behind {
        told.push(told_behind(since));
    }
    if found.is_a_commit_behind {
        told.push(A_COMMIT_BEHIND.to_owned());
    }
    if found.damaged_rows > 0 {
        let rows = found.damaged_rows;
        told.push(format!("some live entries are not blocked: {rows} rows of the journal are damaged"));
    }
    told
}

/// The loss if the newest page of the journal was damaged.
pub const A_COMMIT_BEHIND: &str = "the last live changes before filterd ended are lost, because the newest page of the journal is damaged: entries may be missing or back";

/// The text is the same at every start, so that the loss is recorded only once.
pub fn told_behind(since: Timestamp) -> String {
    format!(
        "live changes made after {} were not all on disk when filterd ended: entries may be missing or back",
        date::utc(since.secs())
    )
}

fn told_damage(damage: &JournalDamage) -> String {
    let reason = printable::excerpt(&damage.reason);
    let aside = damage.set_aside.as_ref();
    let aside =
        aside.map_or_else(String::new, |aside| format!(", and was moved to {}", printable::path(aside)));
    let instead = match &damage.instead {
        Replacement::Copy { .. } => "an older copy is in force, and changes made after it are lost",
        Replacement::DamagedCopy { .. } => "its copy was damaged too, and live entries are lost",
        Replacement::Nothing => "there was no copy, and live entries are lost",
    };
    format!("the journal of live entries was damaged ({reason}){aside}; {instead}")
}

/// Appends losses, one line each: the second at which it was found, and its description.
fn append(note: &Path, losses: &[Loss]) -> io::Result<()> {
    if losses.is_empty() {
        return Ok(());
    }
    let flags = OFlag::O_NOFOLLOW.bits();
    let mut file = OpenOptions::new().append(true).create(true).mode(0o600).custom_flags(flags).open(note)?;
    file.write_all(lines(losses).as_bytes())?;
    file.sync_all()
}

/// Writes exactly these losses. If the disk is full, the file stays as it was.
fn write(note: &Path, losses: &[Loss]) -> io::Result<()> {
    if losses.is_empty() {
        return match fs::remove_file(note) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        };
    }
    let unfinished = note.with_extension("lost.new");
    // A file with this name was left unfinished.
    _ = fs::remove_file(&unfinished);
    append(&unfinished, losses)?;
    fs::rename(unfinished, note)
}

fn lines(losses: &[Loss]) -> String {
    losses.iter().map(|Loss { since, what }| format!("{since} {what}\n")).collect()
}

/// Reads the file. If it cannot be read, the result says at least that something was lost.
fn read(note: &Path) -> Vec<Loss> {
    let mut text = String::new();
    match fs::File::open(note).and_then(|file| file.take(LONGEST).read_to_string(&mut text)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
        Ok(_) => {}
        Err(error) => {
            text = format!("0 live entries were lost, and the note about them cannot be read: {error}")
        }
    }
    text.lines().filter(|line| !line.trim().is_empty()).map(Loss::parse).collect()
}

impl Loss {
    fn parse(line: &str) -> Self {
        let parsed = line.split_once(' ').and_then(|(since, what)| Some((since.parse().ok()?, what)));
        let (since, what) = parsed.unwrap_or((0, line));
        Self { since, what: printable::line(what).into_owned() }
    }
}

#[cfg(test)]
mod tests;
