//! Pauses protection: for a limited time, blocked packets are counted but not dropped.
//!
//! A pause always has an end. The judge compares it with the time itself, so that it ends without the daemon.
//! A reload does not change a pause, and the end of the daemon ends it, because the broker replaces the judge
//! that stays. If the broker is killed, no process can load programs, and the pause ends with its time or at
//! the next start.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tracing::warn;

use super::commit::CommitError;
use crate::blocklist::Timestamp;
use crate::clock;
use crate::control::wire::status::Paused;
use crate::control::wire::{About, Fault};
use crate::text::{Explain, Explanation, date, printable};

/// A file in the state directory, from which the next start learns that it has ended a pause.
const FILE: &str = "pause";

/// How long to wait after the kernel refused a judge without a pause.
const RETRY: Duration = Duration::from_secs(1);

/// Whether protection is paused.
pub struct PauseState {
    note: PathBuf,
    now: Option<CurrentPause>,
}

/// The pause that was begun last.
struct CurrentPause {
    since: Timestamp,
    until: Timestamp,
    by: String,
    /// When to try again to load a judge without the pause. Set if the pause is over and the kernel refused
    /// it.
    retry: Option<Instant>,
}

impl PauseState {
    /// No pause, for a filterd with this state directory.
    pub fn none(state: &Path) -> Self {
        Self { note: state.join(FILE), now: None }
    }

    /// The end of the pause, if one is on.
    pub fn until(&self) -> Option<Timestamp> {
        Some(self.current()?.until)
    }

    /// The time until the pause must be ended.
    pub fn until_due(&self) -> Option<Duration> {
        let now = self.now.as_ref()?;
        Some(match &now.retry {
            Some(retry) => retry.saturating_duration_since(clock::instant()),
            None => clock::until(now.until),
        })
    }

    /// Begins or changes a pause. Returns the end of the one before, if it was on.
    pub fn begin(&mut self, since: Timestamp, until: Timestamp, by: String) -> Option<Timestamp> {
        let before = self.now.take().filter(CurrentPause::is_on);
        let since = before.as_ref().map_or(since, |before| before.since);
        if let Err(error) = write(&self.note, until, &by) {
            warn!(
                "{}: {error}: the next start will not report that it ends a pause",
                printable::path(&self.note)
            );
        }
        self.now = Some(CurrentPause { since, until, by, retry: None });
        before.map(|before| before.until)
    }

    /// Ends the pause. Returns its end, if it was on.
    pub fn end(&mut self) -> Option<Timestamp> {
        let before = self.now.take()?;
        _ = fs::remove_file(&self.note);
        before.is_on().then_some(before.until)
    }

    /// The part of `status` about the pause.
    pub fn status(&self) -> Option<Paused> {
        let CurrentPause { since, until, by, .. } = self.current()?;
        Some(Paused { since: clock::on_the_wall(*since), until: clock::on_the_wall(*until), by: by.clone() })
    }

    /// While protection is paused, this is the first fault to show.
    pub fn fault(&self) -> Option<Fault> {
        let CurrentPause { since, until, by, .. } = self.current()?;
        let message = format!(
            "protection is paused until {}, by {}: packets from listed sources are only counted",
            date::utc(clock::on_the_wall(*until)),
            printable::on_one_line(by)
        );
        let told = Explanation::new(message, "to end it now: filterd resume");
        Some(Fault { about: About::Protection, since: clock::on_the_wall(*since), told, id: None })
    }

    /// Logs that a pause of the filterd before has ended.
    pub fn report_earlier_pause(&self) {
        let Ok(text) = fs::read_to_string(&self.note) else { return };
        _ = fs::remove_file(&self.note);
        if let Some((until, by)) = parted(&text).filter(|(until, _)| *until > clock::now()) {
            warn!(
                "protection was paused until {}, by {}: this start ended the pause",
                date::utc(until.secs()),
                printable::on_one_line(by)
            );
        }
    }

    /// Records that the kernel refused a judge without the pause, although its time is over. The present
    /// judge drops listed packets nevertheless.
    pub fn note_refusal(&mut self, error: &CommitError) {
        warn!("the pause is over, but each drop still reads the clock: {}", error.explain());
        if let Some(now) = &mut self.now {
            now.retry = Some(clock::instant() + RETRY);
        }
    }

    /// The pause, unless its time is over. It may not have been ended yet.
    fn current(&self) -> Option<&CurrentPause> {
        self.now.as_ref().filter(|now| now.is_on())
    }
}

impl CurrentPause {
    fn is_on(&self) -> bool {
        !clock::until(self.until).is_zero()
    }
}

/// Writes the file; a file that is there belongs to an earlier pause.
fn write(note: &Path, until: Timestamp, by: &str) -> io::Result<()> {
    _ = fs::remove_file(note);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(note)?;
    writeln!(file, "{} {}", clock::on_the_wall(until), printable::on_one_line(by))
}

fn parted(text: &str) -> Option<(Timestamp, &str)> {
    let (until, by) = text.trim_end().split_once(' ')?;
    Some((Timestamp::begun(Duration::from_secs(until.parse().ok()?)), by))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::begun(Duration::from_secs(seconds))
    }

    #[test]
    fn pause_is_shown_until_its_end_or_replacement() {
        let place = tempfile::tempdir().unwrap();
        let mut pause = PauseState::none(place.path());
        assert_eq!((pause.until(), pause.until_due(), pause.fault(), pause.end()), (None, None, None, None));
        let [soon, later] = [60, 120].map(|seconds| clock::after(Duration::from_secs(seconds)));
        assert_eq!(pause.begin(at(7), soon, "alice".into()), None);
        let fault = pause.fault().unwrap();
        assert_eq!(
            fault.told.message,
            format!(
                "protection is paused until {}, by alice: packets from listed sources are only counted",
                date::utc(clock::on_the_wall(soon))
            )
        );
        assert_eq!(pause.begin(at(9), later, "bob".into()), Some(soon));
        let status = pause.status().unwrap();
        assert_eq!((status.since, status.until, status.by.as_str()), (7, later.secs(), "bob"));
        assert_eq!(pause.end(), Some(later));
        assert!(!place.path().join(FILE).exists());
    }

    #[test]
    fn expired_pause_counts_as_none() {
        let place = tempfile::tempdir().unwrap();
        let mut pause = PauseState::none(place.path());
        pause.begin(at(7), at(20), "bob".into());
        assert_eq!((pause.until(), pause.status(), pause.fault()), (None, None, None));
        assert_eq!(pause.until_due(), Some(Duration::ZERO), "the judge that asks no time is due");
        assert_eq!(pause.end(), None);
        assert_eq!(pause.until_due(), None);
    }

    #[test]
    fn the_next_start_knows_of_it_once() {
        let place = tempfile::tempdir().unwrap();
        PauseState::none(place.path()).begin(at(7), clock::after(Duration::from_secs(60)), "al\nice".into());
        let text = fs::read_to_string(place.path().join(FILE)).unwrap();
        let (until, by) = parted(&text).unwrap();
        assert!(until > clock::now() && !by.contains('\n'), "{text}");
        PauseState::none(place.path()).report_earlier_pause();
        assert!(!place.path().join(FILE).exists());
        assert_eq!((parted("soon by me"), parted("7"), parted("")), (None, None, None));
    }
}
