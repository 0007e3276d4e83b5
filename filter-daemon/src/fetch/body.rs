//! The daemon's side of a fetch. The other side reads from the network, so everything that can be checked
//! here is: sizes, times, and that the end was announced.

use std::fmt;
use std::io::{self, ErrorKind, Read};
use std::net::IpAddr;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use super::error::FetchError;
use super::message::{self, BodyEnd, LONGEST_PIECE};
use super::spawner;
use crate::clock;

/// The result of a fetch.
#[derive(Debug)]
pub enum Fetched {
    /// The server has nothing newer than the version that the order names.
    Unchanged {
        /// The addresses that were asked.
        from: Vec<IpAddr>,
    },
    /// A new version to read.
    Body(Box<FetchedBody>),
}

/// The bytes of a body as they arrive. A read fails if the body broke off, was too large or too slow, and
/// [`FetchError::of`] gives the reason. Only a body that was read to its end without an error is complete.
pub struct FetchedBody {
    /// The server's tag for this version.
    pub etag: Option<String>,
    /// When it was last modified, in the server's words.
    pub last_modified: Option<String>,
    /// The server's content type, such as `text/plain`.
    pub content_type: Option<String>,
    /// The addresses that were asked.
    pub from: Vec<IpAddr>,
    hearing: ChildReader,
    most: u64,
    left_of_piece: usize,
    ended: Option<Result<(), FetchError>>,
}

/// Reads from a fetching process within a time limit.
pub struct ChildReader {
    stream: UnixStream,
    begun: Instant,
    patience: Duration,
    heard: u64,
}

impl FetchedBody {
    /// The most addresses that are remembered for a feed.
    pub const MOST_FROM: usize = 8;

    /// Starts a body after its head was read.
    pub fn begin(
        hearing: ChildReader,
        most: u64,
        etag: Option<String>,
        last_modified: Option<String>,
        content_type: Option<String>,
        mut from: Vec<IpAddr>,
    ) -> Self {
        from.truncate(Self::MOST_FROM);
        let hearing = ChildReader { heard: 0, ..hearing };
        Self { etag, last_modified, content_type, from, hearing, most, left_of_piece: 0, ended: None }
    }

    fn read_piece(&mut self, into: &mut [u8]) -> Result<usize, FetchError> {
        if self.left_of_piece == 0 {
            self.left_of_piece = message::receive_length(&mut self.hearing, LONGEST_PIECE)
                .map_err(|error| self.hearing.why(error))?;
            if self.left_of_piece == 0 {
                return self.end().map(|()| 0);
            }
        }
        let most = into.len().min(self.left_of_piece);
        let read = self.hearing.read(&mut into[..most]).map_err(|error| self.hearing.why(error))?;
        if read == 0 {
            return Err(self.hearing.why(ErrorKind::UnexpectedEof.into()));
        }
        self.left_of_piece -= read;
        self.hearing.heard += read as u64;
        if self.hearing.heard > self.most { Err(FetchError::TooLarge(self.most)) } else { Ok(read) }
    }

    fn end(&mut self) -> Result<(), FetchError> {
        match message::receive(&mut self.hearing).map_err(|error| self.hearing.why(error))? {
            BodyEnd::Whole => Ok(()),
            BodyEnd::Failed(error) => Err(error),
        }
    }
}

impl Read for FetchedBody {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        if let Some(ended) = &self.ended {
            return Ok(ended.clone().map(|()| 0)?);
        }
        let read = self.read_piece(into);
        match &read {
            Ok(0) => self.ended = Some(Ok(())),
            Ok(_) => {}
            Err(error) => self.ended = Some(Err(error.clone())),
        }
        Ok(read?)
    }
}

impl fmt::Debug for FetchedBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Body").field("etag", &self.etag).field("from", &self.from).finish_non_exhaustive()
    }
}

impl ChildReader {
    /// Starts the time limit now.
    pub fn begin(stream: UnixStream, patience: Duration) -> Self {
        Self { stream, begun: clock::instant(), patience, heard: 0 }
    }

    /// The reason for a failed read. A process that was ended because it is late looks like any other that
    /// ended.
    pub fn why(&self, error: io::Error) -> FetchError {
        let is_late = self.begun.elapsed() >= self.patience;
        let kind = error.kind();
        let is_end = kind == ErrorKind::UnexpectedEof;
        if is_late && (is_end || matches!(kind, ErrorKind::TimedOut | ErrorKind::WouldBlock)) {
            return FetchError::TooSlow { patience: self.patience, bytes: self.heard };
        }
        FetchError::Interrupted(if is_end { "it says no more".to_owned() } else { error.to_string() })
    }
}

impl Read for ChildReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        // The spawner ends fetches that are too slow; this timeout applies if the spawner hangs.
        let left = (self.patience + spawner::LATEST * 2).saturating_sub(self.begun.elapsed());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        self.stream.read(into)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// Reads what `say` sends before it closes the socket.
    fn read(most: u64, say: impl FnOnce(&mut UnixStream)) -> (Vec<u8>, Option<FetchError>) {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        say(&mut theirs);
        drop(theirs);
        let mut body = FetchedBody::begin(
            ChildReader::begin(ours, Duration::from_secs(60)),
            most,
            None,
            None,
            None,
            Vec::new(),
        );
        let mut bytes = Vec::new();
        let ended = body.read_to_end(&mut bytes).err();
        (bytes, ended.map(|error| FetchError::of(&error).cloned().expect("it says why")))
    }

    fn pieces(to: &mut UnixStream, pieces: &[&str]) {
        pieces.iter().for_each(|piece| message::send_piece(to, piece.as_bytes()).unwrap());
    }

    #[test]
    fn announced_end_completes_the_body() {
        let whole = read(10, |to| {
            pieces(to, &["1.2.3.4\n", "5\n", ""]);
            message::send(to, &BodyEnd::Whole).unwrap();
        });
        assert_eq!(whole, (b"1.2.3.4\n5\n".to_vec(), None));
    }

    #[test]
    fn missing_end_is_an_error() {
        let interrupted = Some(FetchError::Interrupted("it says no more".to_owned()));
        let cases: [fn(&mut UnixStream); 4] = [
            |to| pieces(to, &["1.2.3.4\n"]),
            |to| pieces(to, &["1.2.3.4\n", ""]),
            |to| {
                pieces(to, &["1.2.3.4\n"]);
                to.write_all(&[0, 0]).unwrap();
            },
            |to| {
                pieces(to, &["1.2.3.4\n"]);
                to.write_all(&[0, 0, 0, 5]).unwrap();
            },
        ];
        for say in cases {
            assert_eq!(read(100, say), (b"1.2.3.4\n".to_vec(), interrupted.clone()));
        }
    }

    #[test]
    fn failed_body_repeats_its_error() {
        let error = FetchError::BrokenOff { bytes: 2, why: "the server closed the connection".to_owned() };
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        pieces(&mut theirs, &["1\n", ""]);
        message::send(&mut theirs, &BodyEnd::Failed(error.clone())).unwrap();
        let mut body = FetchedBody::begin(
            ChildReader::begin(ours, Duration::from_secs(60)),
            100,
            None,
            None,
            None,
            Vec::new(),
        );
        let mut some = [0; 10];
        assert_eq!(body.read(&mut some).unwrap(), 2);
        for _ in 0..2 {
            assert_eq!(FetchError::of(&body.read(&mut some).unwrap_err()), Some(&error));
        }
    }

    #[test]
    fn oversized_messages_are_refused() {
        assert_eq!(read(5, |to| pieces(to, &["1234", "56"])).1, Some(FetchError::TooLarge(5)));
        let boundless = read(1 << 40, |to| to.write_all(&u32::MAX.to_be_bytes()).unwrap()).1;
        assert!(matches!(boundless, Some(FetchError::Interrupted(_))), "{boundless:?}");
    }

    #[test]
    fn silent_child_times_out() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let mut hearing = ChildReader::begin(ours, Duration::ZERO);
        let error = hearing.read(&mut [0]).unwrap_err();
        assert!(matches!(hearing.why(error), FetchError::TooSlow { .. }));
        drop(theirs);
    }
}
