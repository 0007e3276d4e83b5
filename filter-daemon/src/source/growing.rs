//! Reads a file that may be written at the same time. Half a line, such as `10.0.0.1` of `10.0.0.123`, would
//! block another host. Lines with a line end are used as they are. A last line without one is used only if
//! the file is at rest.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use memchr::{memchr_iter, memrchr};

use super::patience::ReadProgress;
use super::rejected::{RejectReason, RejectedLine};
use crate::clock;
use crate::text::lines::LONGEST;

/// A file is at rest if it was not written for this time. A program that writes a list does not pause longer
/// within a line. Reading a list without a final line end does not wait longer either.
const REST: Duration = Duration::from_secs(1);

/// How often progress is reported during the wait.
const TELLS_EVERY: Duration = Duration::from_millis(100);

const BUFFER: usize = 128 * 1024;

/// Lines that were left out because they were still being written.
#[derive(Clone, Debug, Default)]
pub struct UnfinishedLines(Arc<Mutex<Vec<RejectedLine>>>);

impl UnfinishedLines {
    fn note(&self, line: RejectedLine) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }

    /// Takes all of these lines out.
    #[must_use]
    pub fn take(&self) -> Vec<RejectedLine> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A function that waits for this time.
type Wait = Box<dyn FnMut(Duration) + Send>;

/// Reads a file to its end. The last line is returned only if it is complete or the file is at rest.
pub struct GrowingFile {
    path: Arc<Path>,
    file: File,
    /// The size and time of the file when it was opened.
    before: FileState,
    buffer: Box<[u8]>,
    /// Bytes that were read but not returned. Those up to `whole` may be returned.
    start: usize,
    whole: usize,
    end: usize,
    /// The number of bytes read, and of line ends in them.
    read: u64,
    lines: u64,
    is_at_end: bool,
    unfinished: UnfinishedLines,
    wait: Wait,
}

/// The properties of a file that change when it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileState {
    size: u64,
    written: (i64, i64),
}

impl GrowingFile {
    /// Reads this file, which is called `path`. `progress` is updated during the wait.
    ///
    /// # Errors
    /// If the file's metadata cannot be read.
    pub fn new(
        path: &Path,
        file: File,
        unfinished: UnfinishedLines,
        progress: ReadProgress,
    ) -> io::Result<Self> {
        Self::waiting(path, file, unfinished, Box::new(move |time| sleep(time, &progress)))
    }

    fn waiting(path: &Path, file: File, unfinished: UnfinishedLines, wait: Wait) -> io::Result<Self> {
        let before = FileState::of(&file.metadata()?);
        let buffer = vec![0; BUFFER].into();
        let path = path.into();
        let (start, whole, end) = (0, 0, 0);
        Ok(Self {
            path,
            file,
            before,
            buffer,
            start,
            whole,
            end,
            read: 0,
            lines: 0,
            is_at_end: false,
            unfinished,
            wait,
        })
    }

    /// Moves the bytes that may not be returned yet to the front, and reads more after them.
    fn refill(&mut self) -> io::Result<()> {
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.whole, self.end) = (0, 0, self.end - self.start);
        let read = self.file.read(&mut self.buffer[self.end..])?;
        if read == 0 {
            return self.finish();
        }
        let new = &self.buffer[self.end..self.end + read];
        self.lines += memchr_iter(b'\n', new).count() as u64;
        let last = memrchr(b'\n', new);
        self.read += read as u64;
        self.whole = last.map_or(0, |at| self.end + at + 1);
        self.end += read;
        // A line that is too long is rejected in any case, and a document shows its end itself.
        if self.end - self.whole > LONGEST {
            self.whole = self.end;
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.is_at_end = true;
        if self.end > 0 && self.wait_for_rest()? {
            self.whole = self.end;
        } else if self.end > 0 {
            let line = &self.buffer[..self.end];
            self.unfinished.note(RejectedLine::new(
                &self.path,
                self.lines + 1,
                line,
                RejectReason::Unfinished,
            ));
            self.end = 0;
        }
        // Some files report size zero although they have content.
        if self.before.size > 0 && FileState::of(&self.file.metadata()?).size < self.read {
            return Err(io::Error::other("it became shorter while it was read: it is being rewritten"));
        }
        Ok(())
    }

    /// True if the file was not written since it was opened, nor for a while before.
    fn wait_for_rest(&mut self) -> io::Result<bool> {
        let time = REST.saturating_sub(self.before.age());
        if !time.is_zero() {
            (self.wait)(time);
        }
        Ok(FileState::of(&self.file.metadata()?) == self.before)
    }
}

impl Read for GrowingFile {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.start == self.whole && !self.is_at_end {
            self.refill()?;
        }
        let read = (&self.buffer[self.start..self.whole]).read(into)?;
        self.start += read;
        Ok(read)
    }
}

impl FileState {
    fn of(file: &Metadata) -> Self {
        Self { size: file.size(), written: (file.mtime(), file.mtime_nsec()) }
    }

    /// The time since the file was written, by the file server's clock. Zero if that clock is ahead.
    fn age(self) -> Duration {
        let (seconds, nanoseconds) = self.written;
        let then = Duration::new(seconds.try_into().unwrap_or(0), nanoseconds.try_into().unwrap_or(0));
        clock::since_1970().saturating_sub(then)
    }
}

fn sleep(time: Duration, progress: &ReadProgress) {
    let end = clock::instant() + time;
    loop {
        progress.tell();
        let left = end.saturating_duration_since(clock::instant());
        if left.is_zero() {
            return;
        }
        thread::sleep(left.min(TELLS_EVERY));
    }
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::io::Write;
    use std::time::SystemTime;

    use super::*;

    struct Written {
        file: tempfile::NamedTempFile,
        waited: Arc<Mutex<Duration>>,
    }

    impl Written {
        /// A file with this text that was written `age` ago.
        fn ago(text: &[u8], age: Duration) -> Self {
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), text).unwrap();
            file.as_file().set_modified(SystemTime::now() - age).unwrap();
            Self { file, waited: Arc::default() }
        }

        fn waited(&self) -> Duration {
            *self.waited.lock().unwrap()
        }

        /// Reads the file. `meanwhile` is called while the reader waits.
        fn read(&self, meanwhile: impl Fn(&Path) + Send + 'static) -> (io::Result<Vec<u8>>, Vec<String>) {
            let (unfinished, waited) = (UnfinishedLines::default(), self.waited.clone());
            let path = self.file.path().to_owned();
            let wait = move |time| {
                *waited.lock().unwrap() += time;
                meanwhile(&path);
            };
            let file = self.file.reopen().unwrap();
            let path = Path::new("drop.txt");
            let mut growing = GrowingFile::waiting(path, file, unfinished.clone(), Box::new(wait)).unwrap();
            let mut bytes = Vec::new();
            let read = growing.read_to_end(&mut bytes).map(|_| bytes);
            (read, unfinished.take().iter().map(ToString::to_string).collect())
        }
    }

    fn append(path: &Path, text: &str) {
        OpenOptions::new().append(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
    }

    #[test]
    fn unfinished_line_is_left_out_and_reported() {
        let written = Written::ago(b"192.0.2.1\n10.0.0.1", Duration::ZERO);
        let (read, told) = written.read(|path| append(path, "23\n"));
        assert_eq!(read.unwrap(), b"192.0.2.1\n");
        assert!(told[0].starts_with("drop.txt:2: `10.0.0.1` has no line end, and"), "{told:?}");
        let (read, told) = written.read(|_| {});
        assert_eq!((read.unwrap(), told), (b"192.0.2.1\n10.0.0.123\n".to_vec(), vec![]));
    }

    #[test]
    fn resting_file_is_read_completely() {
        for (age, waits) in [(Duration::ZERO, true), (Duration::from_secs(5), false)] {
            let written = Written::ago(b"192.0.2.1\n10.0.0.1", age);
            let (read, told) = written.read(|_| {});
            assert_eq!((read.unwrap(), told), (b"192.0.2.1\n10.0.0.1".to_vec(), vec![]));
            assert_eq!(!written.waited().is_zero(), waits);
            assert!(written.waited() <= REST);
        }
        let ended = Written::ago(b"192.0.2.1\n", Duration::ZERO);
        assert_eq!(ended.read(|_| {}).0.unwrap(), b"192.0.2.1\n");
        assert!(ended.waited().is_zero(), "a line with an end is whole");
        let ahead = Written::ago(b"10.0.0.1", Duration::ZERO);
        ahead.file.as_file().set_modified(SystemTime::now() + Duration::from_secs(600)).unwrap();
        assert_eq!(ahead.read(|_| {}).0.unwrap(), b"10.0.0.1");
        assert_eq!(ahead.waited(), REST, "a clock that is ahead is no reason to wait longer");
    }

    #[test]
    fn file_rewritten_during_reading_is_refused() {
        let written = Written::ago(b"192.0.2.1\n10.0.0.1", Duration::ZERO);
        let (read, _) = written.read(|path| std::fs::write(path, "10.").unwrap());
        assert!(read.unwrap_err().to_string().contains("became shorter"));
    }

    #[test]
    fn bytes_are_unchanged_for_any_size() {
        let lines = [0, 1, LONGEST - 1, LONGEST, LONGEST + 1, BUFFER - 1, BUFFER, BUFFER + 1, 3 * BUFFER];
        for length in lines {
            for end in ["", "\n", "\n1"] {
                let text = [b"1.2.3.4\n", &vec![b'x'; length][..], end.as_bytes()].concat();
                let written = Written::ago(&text, Duration::from_secs(5));
                assert_eq!(written.read(|_| {}).0.unwrap(), text, "{length} {end:?}");
            }
        }
    }
}
