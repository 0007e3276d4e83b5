//! One fetch, run on a separate thread: sends the request, writes the content, and keeps it when it is
//! complete.

use std::io::{self, Read, Write};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::reached::ReachedServers;
use super::schedule::{self, RandomNumber};
use crate::clock;
use crate::config::Feed;
use crate::config::secret::{self, SystemdCredentials};
use crate::control::wire::refresh::Transfer;
use crate::fetch::{FetchError, FetchOrder, Fetched, Fetcher};
use crate::source::FeedStore;
use crate::source::feeds::{FeedKey, FeedNote, NoRoom, StoredFailure};
use crate::text::{Explain, Explanation};

/// The function that fetches. Tests replace it.
pub type FetchFunction = dyn Fn(&FetchOrder) -> Result<FetchResponse, FetchError> + Send + Sync;

/// The answer to a fetch.
pub enum FetchResponse {
    /// The stored content is current.
    Unchanged { from: Vec<IpAddr> },
    /// New content is coming.
    Body(ResponseBody),
}

/// New content, with the headers of its server.
pub struct ResponseBody {
    pub etag: Option<String>,
    pub last_modified: Option<String>,
    pub content_type: Option<String>,
    pub from: Vec<IpAddr>,
    pub bytes: Box<dyn Read>,
}

/// Fetches through separate processes that can do nothing else.
pub fn through(fetcher: Fetcher) -> Arc<FetchFunction> {
    Arc::new(move |order| {
        Ok(match fetcher.fetch(order.clone())? {
            Fetched::Unchanged { from } => FetchResponse::Unchanged { from },
            Fetched::Body(body) => FetchResponse::Body(ResponseBody {
                etag: body.etag.clone(),
                last_modified: body.last_modified.clone(),
                content_type: body.content_type.clone(),
                from: body.from.clone(),
                bytes: body,
            }),
        })
    })
}

/// Validators of a server longer than this are not stored, and so not sent back to it.
const LONGEST_WORD: usize = 1024;

/// One fetch to run.
pub struct FetchJob {
    pub key: FeedKey,
    pub feed: Feed,
    /// The largest size in bytes.
    pub most: u64,
    /// The note about the stored content.
    pub note: Option<FeedNote>,
    /// The servers that its lists were fetched from before.
    pub reached: Option<ReachedServers>,
    /// The stored content is held back, so the server must send it again even if it is unchanged.
    pub is_doubted: bool,
    /// Since when it has failed, in wall-clock time, and how many times in a row.
    pub failed: Option<(u64, u32)>,
    pub own: Vec<IpAddr>,
    pub store: FeedStore,
    pub handed: Arc<SystemdCredentials>,
    pub fetch: Arc<FetchFunction>,
    /// Whether this filterd may write to the state directory; false once it ends.
    pub is_ours: Arc<AtomicBool>,
}

/// The result of a fetch.
#[derive(Debug)]
pub enum FetchOutcome {
    /// The stored content is current.
    Unchanged(FeedNote, Transfer),
    /// New content was stored.
    New(FeedNote, Transfer),
    /// Nothing came, or only a part. `is_for_good` means that a retry cannot help.
    Failed { told: Explanation, wait: Duration, is_for_good: bool },
}

/// Why nothing came, or only a part.
struct FetchFailure {
    told: Explanation,
    /// When the server wants to be asked again.
    after: Option<Duration>,
    /// No fetch can succeed while this filterd runs.
    is_for_good: bool,
}

impl FetchJob {
    /// Runs the fetch, and waits for the network.
    pub fn run(self) -> FetchOutcome {
        self.fetch().unwrap_or_else(|FetchFailure { told, after, is_for_good }| {
            let times = self.failed.map_or(0, |(_, times)| times).saturating_add(1);
            let wait = schedule::after_failure(times, self.feed.refresh, after, RandomNumber::new());
            // A failure that lasts only as long as this process does not concern the next filterd.
            if !is_for_good {
                self.note_that_it_failed(times, &told, schedule::over_a_start(wait, after));
            }
            FetchOutcome::Failed { told, wait, is_for_good }
        })
    }

    /// Stores the failure for the next filterd, even if nothing was ever fetched.
    fn note_that_it_failed(&self, times: u32, told: &Explanation, wait: Duration) {
        let now = clock::since_1970();
        let not_before = Some(now.saturating_add(wait).as_secs());
        let since = self.failed.map_or(now.as_secs(), |(since, _)| since);
        let failed = Some(StoredFailure { since, times, told: told.clone() });
        let note = self.note.clone().unwrap_or_else(|| self.note_of_nothing());
        self.write(&FeedNote { not_before, failed, ..note });
    }

    fn note_of_nothing(&self) -> FeedNote {
        let note = FeedNote { url: self.feed.url.to_string(), ..FeedNote::default() };
        match &self.reached {
            Some(ReachedServers { from, at }) => {
                FeedNote { from: from.clone(), checked: clock::on_the_wall(*at), ..note }
            }
            None => note,
        }
    }

    fn fetch(&self) -> Result<FetchOutcome, FetchFailure> {
        let auth = self.feed.auth.as_ref();
        let credentials =
            auth.map(|auth| secret::credentials(auth, &self.handed)).transpose().map_err(failed)?;
        let room = self.store.room(self.key);
        if room == 0 {
            return Err(no_room());
        }
        let known = self.note.as_ref().filter(|_| !self.is_doubted);
        let order = FetchOrder {
            url: self.feed.url.clone(),
            etag: known.and_then(|note| note.etag.clone()),
            last_modified: known.and_then(|note| note.last_modified.clone()),
            credentials,
            insecure: self.feed.insecure,
            allow_private: self.feed.allow_private,
            own: self.own.clone(),
            most_bytes: self.most.min(room),
            patience: self.feed.timeout,
            api: None,
        };
        let begun = clock::instant();
        match ((self.fetch)(&order).map_err(|error| refused(&error))?, &self.note) {
            (FetchResponse::Body(body), _) => {
                let (note, bytes) = self.keep(body)?;
                Ok(FetchOutcome::New(note, transfer(200, bytes, begun)))
            }
            (FetchResponse::Unchanged { from }, Some(note)) => {
                let note = self.confirm(FeedNote { from, ..note.clone() });
                Ok(FetchOutcome::Unchanged(note, transfer(304, 0, begun)))
            }
            (FetchResponse::Unchanged { .. }, None) => {
                Err(failed("the server says that nothing changed, but there is no earlier copy".into()))
            }
        }
    }

    /// Stores the content, and counts its bytes.
    fn keep(&self, mut body: ResponseBody) -> Result<(FeedNote, u64), FetchFailure> {
        let mut coming = self.store.come(self.key).map_err(|error| unwritable(&error))?;
        let (mut buffer, mut bytes) = (vec![0; 1 << 16], 0);
        loop {
            let read = match body.bytes.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(broken_off(&error)),
            };
            coming.write_all(&buffer[..read]).map_err(|error| unwritable(&error))?;
            bytes += read as u64;
        }
        self.must_be_ours()?;
        let now = clock::since_1970().as_secs();
        let short = |word: &Option<String>| word.clone().filter(|word| word.len() <= LONGEST_WORD);
        let note = FeedNote {
            url: self.feed.url.to_string(),
            etag: short(&body.etag),
            last_modified: short(&body.last_modified),
            content_type: short(&body.content_type),
            fetched: now,
            checked: now,
            from: std::mem::take(&mut body.from),
            ..FeedNote::default()
        };
        let kept = self.store.keep(self.key, &coming, note).map_err(|error| unwritable(&error))?;
        Ok((kept, bytes))
    }

    fn confirm(&self, note: FeedNote) -> FeedNote {
        let note =
            FeedNote { checked: clock::since_1970().as_secs(), not_before: None, failed: None, ..note };
        self.write(&note);
        note
    }

    /// Stores when the feed was fetched. If that fails, the next start only fetches a little too early.
    fn write(&self, note: &FeedNote) {
        if self.is_ours.load(Ordering::Acquire)
            && let Err(error) = self.store.write(self.key, note)
        {
            tracing::warn!("cannot store when {} was fetched: {error}", self.feed.url);
        }
    }

    fn must_be_ours(&self) -> Result<(), FetchFailure> {
        if self.is_ours.load(Ordering::Acquire) {
            return Ok(());
        }
        Err(failed("filterd is stopping".into()))
    }
}

fn transfer(status: u16, bytes: u64, begun: Instant) -> Transfer {
    let milliseconds = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    Transfer { status, bytes, milliseconds }
}

fn failed(told: Explanation) -> FetchFailure {
    FetchFailure { told, after: None, is_for_good: false }
}

fn refused(error: &FetchError) -> FetchFailure {
    let is_for_good = matches!(error, FetchError::Gone(_));
    FetchFailure { told: error.explain(), after: error.retry_after(), is_for_good }
}

fn broken_off(error: &io::Error) -> FetchFailure {
    match FetchError::of(error) {
        Some(error) => refused(error),
        None => failed(format!("the transfer broke off: {error}").into()),
    }
}

fn no_room() -> FetchFailure {
    failed(Explanation::new("fetched lists take all the space they may have", "make lists shorter"))
}

fn unwritable(error: &io::Error) -> FetchFailure {
    if NoRoom::is(error) {
        return no_room();
    }
    if error.kind() == io::ErrorKind::NotFound {
        return failed(Explanation::new(
            "the state directory is missing, so nothing can be stored",
            "restart filterd, which creates it again, and find out what removes it",
        ));
    }
    failed(Explanation::new(
        format!("cannot write the fetched list to the state directory: {error}"),
        "make the state directory writable and check its free space",
    ))
}
