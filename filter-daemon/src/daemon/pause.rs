//! Protection is paused: for a while what is blocked is only counted. A pause always has an end, which the judge knows:
//! it asks the time itself, so nobody need be there then. A reload changes nothing about a pause, and whatever ends the
//! daemon ends it, too: the broker sees to what is left at work. Where that is killed, nobody is left who may load programs,
//! and its time ends it, or the next start.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tracing::warn;

use super::commit::NotDone;
use crate::blocklist::Timestamp;
use crate::clock;
use crate::control::wire::status::Paused;
use crate::control::wire::{About, Fault};
use crate::text::{Explain, Explanation, date, printable};

/// In the state directory: for the next start, which tells that it has ended a pause.
const FILE: &str = "pause";

/// How long the kernel is left alone that refuses a judge that asks no time.
const RETRY: Duration = Duration::from_secs(1);

/// Whether protection is paused.
pub struct Pause {
    note: PathBuf,
    now: Option<Now>,
}

/// The pause there is.
struct Now {
    since: Timestamp,
    until: Timestamp,
    by: String,
    /// Its time is over, and the kernel has refused the judge without it: when that is tried again.
    retry: Option<Instant>,
}

impl Pause {
    /// None, for a filterd with this state directory.
    pub fn none(state: &Path) -> Self {
        Self { note: state.join(FILE), now: None }
    }

    /// Until when, if it is paused.
    pub fn until(&self) -> Option<Timestamp> {
        Some(self.current()?.until)
    }

    /// How long until it is to be ended.
    pub fn until_due(&self) -> Option<Duration> {
        let now = self.now.as_ref()?;
        Some(match &now.retry {
            Some(retry) => retry.saturating_duration_since(clock::instant()),
            None => clock::until(now.until),
        })
    }

    /// It is paused until then. Tells until when it was before.
    pub fn begin(&mut self, since: Timestamp, until: Timestamp, by: String) -> Option<Timestamp> {
        let before = self.now.take().filter(Now::is_on);
        let since = before.as_ref().map_or(since, |before| before.since);
        if let Err(error) = write(&self.note, until, &by) {
            warn!(
                "{}: {error}: the next start will not report that it ends a pause",
                printable::path(&self.note)
            );
        }
        self.now = Some(Now { since, until, by, retry: None });
        before.map(|before| before.until)
    }

    /// It is not paused. Tells until when it was.
    pub fn end(&mut self) -> Option<Timestamp> {
        let before = self.now.take()?;
        _ = fs::remove_file(&self.note);
        before.is_on().then_some(before.until)
    }

    /// As `status` tells it.
    pub fn status(&self) -> Option<Paused> {
        let Now { since, until, by, .. } = self.current()?;
        Some(Paused { since: clock::on_the_wall(*since), until: clock::on_the_wall(*until), by: by.clone() })
    }

    /// While it is paused, that is what an operator must see first.
    pub fn fault(&self) -> Option<Fault> {
        let Now { since, until, by, .. } = self.current()?;
        let message = format!(
            "protection is paused until {}, by {}: packets from listed sources are only counted",
            date::utc(clock::on_the_wall(*until)),
            printable::on_one_line(by)
        );
        let told = Explanation::new(message, "to end it now: filterd resume");
        Some(Fault { about: About::Protection, since: clock::on_the_wall(*since), told, id: None })
    }

    /// Tells of a pause that ended with the filterd before this one.
    pub fn has_begun(&self) {
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

    /// Its time is over, and the kernel refuses the judge without it. That at work drops what is listed.
    pub fn is_refused(&mut self, error: &NotDone) {
        warn!("the pause is over, but each drop still reads the clock: {}", error.explain());
        if let Some(now) = &mut self.now {
            now.retry = Some(clock::instant() + RETRY);
        }
    }

    /// The pause there is: one that is over is none, even where nobody has come to end it.
    fn current(&self) -> Option<&Now> {
        self.now.as_ref().filter(|now| now.is_on())
    }
}

impl Now {
    fn is_on(&self) -> bool {
        !clock::until(self.until).is_zero()
    }
}

/// Whatever lay there is another pause's.
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
    fn a_pause_is_told_until_it_ends_and_another_one_takes_its_place() {
        let place = tempfile::tempdir().unwrap();
        let mut pause = Pause::none(place.path());
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
    fn a_pause_that_is_over_is_none_whether_or_not_anybody_has_ended_it() {
        let place = tempfile::tempdir().unwrap();
        let mut pause = Pause::none(place.path());
        pause.begin(at(7), at(20), "bob".into());
        assert_eq!((pause.until(), pause.status(), pause.fault()), (None, None, None));
        assert_eq!(pause.until_due(), Some(Duration::ZERO), "the judge that asks no time is due");
        assert_eq!(pause.end(), None);
        assert_eq!(pause.until_due(), None);
    }

    #[test]
    fn the_next_start_knows_of_it_once() {
        let place = tempfile::tempdir().unwrap();
        Pause::none(place.path()).begin(at(7), clock::after(Duration::from_secs(60)), "al\nice".into());
        let text = fs::read_to_string(place.path().join(FILE)).unwrap();
        let (until, by) = parted(&text).unwrap();
        assert!(until > clock::now() && !by.contains('\n'), "{text}");
        Pause::none(place.path()).has_begun();
        assert!(!place.path().join(FILE).exists());
        assert_eq!((parted("soon by me"), parted("7"), parted("")), (None, None, None));
    }
}
