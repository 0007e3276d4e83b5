//! Limits the wait for files that no server delivers, such as those of a dead network file system. Each file
//! is read in its own thread, and given up when no bytes arrive. The thread remains until the system releases
//! it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, TryRecvError};
use std::thread;
use std::time::Duration;

use super::file::FileError;

/// The longest time without any bytes. Every disk and every working server is faster, even under load.
const PATIENCE: Duration = Duration::from_secs(5);

/// The shorter limit once another file was given up, because both files probably have the same server.
const IMPATIENCE: Duration = Duration::from_millis(500);

/// The value that means that reading has ended.
const END: u64 = u64::MAX;

/// The progress of a reading thread.
#[derive(Clone, Debug, Default)]
pub struct ReadProgress(Arc<AtomicU64>);

impl ReadProgress {
    /// Reports that bytes have arrived.
    pub fn tell(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Reports that no more bytes are needed.
    pub fn end(&self) {
        self.0.store(END, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Reads files in separate threads, and remembers those that were given up. No file is read twice at the same
/// time.
pub struct TimedReader<T> {
    hanging: HashMap<PathBuf, Receiver<T>>,
    first: Duration,
    later: Duration,
}

impl<T> Default for TimedReader<T> {
    fn default() -> Self {
        Self { hanging: HashMap::new(), first: PATIENCE, later: IMPATIENCE }
    }
}

impl<T: Send + 'static> TimedReader<T> {
    /// Runs `work` on the file at `path` in a thread. `work` must report its progress.
    ///
    /// # Errors
    /// If nothing arrives in time.
    pub fn read(
        &mut self,
        path: &Path,
        work: impl FnOnce(ReadProgress) -> T + Send + 'static,
    ) -> Result<T, FileError> {
        if self.hangs(path) {
            return Err(FileError::Silent { path: path.into(), waited: self.first });
        }
        let progress = ReadProgress::default();
        let (tell, told) = mpsc::channel();
        let working = progress.clone();
        let thread = thread::Builder::new().name("reading".to_owned()).spawn(move || {
            // If the file was given up, there is no receiver.
            _ = tell.send(work(working));
        });
        thread.map_err(|error| FileError::new(path, error))?;
        let patience = if self.hanging.is_empty() { self.first } else { self.later };
        match follow(&progress, || told.recv_timeout(patience)) {
            Ok(read) => Ok(read),
            Err(RecvTimeoutError::Disconnected) => Err(FileError::Broken { path: path.into() }),
            Err(RecvTimeoutError::Timeout) => {
                self.hanging.insert(path.into(), told);
                Err(FileError::Silent { path: path.into(), waited: patience })
            }
        }
    }

    /// True if the thread that reads this file is still waiting.
    fn hangs(&mut self, path: &Path) -> bool {
        let still = |told: &Receiver<T>| matches!(told.try_recv(), Err(TryRecvError::Empty));
        let hangs = self.hanging.get(path).is_some_and(still);
        if !hangs {
            self.hanging.remove(path);
        }
        hangs
    }
}

/// Waits until the reading ends, or makes no progress during a whole wait.
fn follow<T>(
    progress: &ReadProgress,
    mut wait: impl FnMut() -> Result<T, RecvTimeoutError>,
) -> Result<T, RecvTimeoutError> {
    let mut before = progress.get();
    loop {
        match wait() {
            Err(RecvTimeoutError::Timeout) => {}
            ended => return ended,
        }
        let now = progress.get();
        if now == before && now != END {
            return Err(RecvTimeoutError::Timeout);
        }
        before = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Explain;

    #[test]
    fn hanging_file_is_not_read_again() {
        // Only a blocked thread is given up, however late it starts on a loaded machine.
        let (first, later) = (Duration::from_millis(50), Duration::from_secs(10));
        let mut patience = TimedReader { first, later, ..TimedReader::default() };
        let path = Path::new("/nfs/drop.txt");
        let (go_on, wait) = mpsc::channel::<()>();
        let hung = patience.read(path, move |_| {
            _ = wait.recv();
            1
        });
        assert!(hung.unwrap_err().to_string().starts_with("/nfs/drop.txt: has not answered for"));
        assert!(patience.read(path, |_| panic!("one thread a file")).is_err());
        assert_eq!(patience.read(Path::new("other"), |_| 2).unwrap(), 2);
        drop(go_on);
        let again = (0..1000).find_map(|_| {
            thread::sleep(Duration::from_millis(10));
            patience.read(path, |_| 3).ok()
        });
        assert_eq!(again, Some(3));
    }

    #[test]
    fn panicking_reader_is_reported() {
        let mut patience = TimedReader::default();
        let broken =
            patience.read(Path::new("drop.csv"), |_| -> u32 { panic!("a line that nobody thought of") });
        let told = broken.unwrap_err().explain();
        assert_eq!(told.message, "drop.csv: cannot be read: this is a fault in filterd itself");
        assert!(
            told.remedy.is_some_and(|remedy| remedy.contains("report it with this file")),
            "it says what to do"
        );
        assert_eq!(patience.read(Path::new("drop.csv"), |_| 2).unwrap(), 2, "the next one is read");
    }

    #[test]
    fn progress_extends_the_wait() {
        let (progress, mut waits) = (ReadProgress::default(), 0);
        let slow = || {
            waits += 1;
            match waits {
                1..=8 => progress.tell(),
                9 => progress.end(),
                10..=12 => {}
                _ => return Ok(1),
            }
            Err(RecvTimeoutError::Timeout)
        };
        assert_eq!(follow(&progress, slow), Ok(1));
    }

    #[test]
    fn stalled_reader_is_given_up() {
        let (progress, mut waits) = (ReadProgress::default(), 0);
        let stops = || -> Result<(), _> {
            waits += 1;
            if waits < 3 {
                progress.tell();
            }
            Err(RecvTimeoutError::Timeout)
        };
        assert_eq!(follow(&progress, stops), Err(RecvTimeoutError::Timeout));
        assert_eq!(waits, 3);
    }
}
