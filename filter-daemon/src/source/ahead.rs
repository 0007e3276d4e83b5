//! Reads a long list in its own thread, ahead of the parser. The reading thread waits for the file system,
//! finds whole lines and has the bytes written down, while the other one parses.

use std::io::{self, ErrorKind, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Scope};

/// A shorter list is read before a thread would have started.
const LONG: usize = 1 << 20;

/// Small enough that the allocator has such blocks at hand and they stay in the processor's caches.
const BLOCK: usize = 64 * 1024;

/// The number of blocks that may wait for the parser.
const AHEAD: usize = 8;

/// Reads `input` ahead of `read`. `input` is dropped as soon as `read` wants no more of it, even if `read`
/// continues with other work. Nothing more is read from it after this returns.
pub fn ahead<T>(input: impl Read + Send, read: impl FnOnce(Box<dyn Read + '_>) -> T) -> T {
    let input = Mutex::new(Some(input));
    thread::scope(|scope| {
        read(Box::new(ReadAhead { scope, input: &input, length: 0, thread: ReaderThread::Later }))
    })
}

struct ReadAhead<'scope, 'env, R: Read + Send> {
    scope: &'scope Scope<'scope, 'env>,
    input: &'env Mutex<Option<R>>,
    length: usize,
    thread: ReaderThread,
}

enum ReaderThread {
    /// The list is too short for a thread so far.
    Later,
    /// The thread reads. Holds the last block, and how many of its bytes were returned.
    Reads(Receiver<io::Result<Vec<u8>>>, Vec<u8>, usize),
    /// No thread could be started.
    None,
}

impl<R: Read + Send> ReadAhead<'_, '_, R> {
    fn begin(&self) -> ReaderThread {
        let (blocks, come) = sync_channel(AHEAD);
        let input = self.input;
        let thread = thread::Builder::new().name("ahead".to_owned());
        match thread.spawn_scoped(self.scope, move || read_all(input, &blocks)) {
            Ok(_) => ReaderThread::Reads(come, Vec::new(), 0),
            Err(_) => ReaderThread::None,
        }
    }
}

impl<R: Read + Send> Read for ReadAhead<'_, '_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if matches!(self.thread, ReaderThread::Later) && self.length > LONG {
            self.thread = self.begin();
        }
        let ReaderThread::Reads(come, block, given) = &mut self.thread else {
            let read = read(self.input, into)?;
            self.length = self.length.saturating_add(read);
            return Ok(read);
        };
        if *given == block.len() {
            // The thread ends first if the input is over, or if it panicked, in which case its scope panics
            // as well.
            let Ok(next) = come.recv() else { return Ok(0) };
            (*block, *given) = (next?, 0);
        }
        let read = (&block[*given..]).read(into)?;
        *given += read;
        Ok(read)
    }
}

impl<R: Read + Send> Drop for ReadAhead<'_, '_, R> {
    fn drop(&mut self) {
        if !matches!(self.thread, ReaderThread::Reads(..)) {
            drop_input(self.input);
        }
    }
}

/// Runs until the input ends or fails, or the reader is gone.
fn read_all(input: &Mutex<Option<impl Read>>, blocks: &SyncSender<io::Result<Vec<u8>>>) {
    loop {
        let mut block = vec![0; BLOCK];
        let result = match read(input, &mut block) {
            Ok(0) => break,
            Ok(read) => {
                block.truncate(read);
                Ok(block)
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
        let is_over = result.is_err();
        if blocks.send(result).is_err() || is_over {
            break;
        }
    }
    drop_input(input);
}

fn read(input: &Mutex<Option<impl Read>>, into: &mut [u8]) -> io::Result<usize> {
    let mut input = input.lock().unwrap_or_else(PoisonError::into_inner);
    input.as_mut().map_or(Ok(0), |input| input.read(into))
}

fn drop_input(input: &Mutex<Option<impl Read>>) {
    drop(input.lock().unwrap_or_else(PoisonError::into_inner).take());
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::mpsc;
    use std::thread::ThreadId;
    use std::time::Duration;

    use super::*;

    /// An input of this length, followed by an error if there is one. Records which threads read it.
    struct Bytes<'a> {
        given: usize,
        length: usize,
        then: Option<ErrorKind>,
        asked: &'a Mutex<HashSet<ThreadId>>,
    }

    impl Read for Bytes<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            self.asked.lock().unwrap().insert(thread::current().id());
            let count = into.len().min(self.length - self.given).min(10_007);
            if count == 0 {
                return self.then.take().map_or(Ok(0), |kind| Err(kind.into()));
            }
            into[..count].iter_mut().zip(self.given..).for_each(|(byte, at)| *byte = byte_at(at));
            self.given += count;
            Ok(count)
        }
    }

    const fn byte_at(at: usize) -> u8 {
        (at % 251) as u8
    }

    const LENGTHS: [usize; 6] = [0, 1, LONG - 1, LONG, LONG + 1, 3 * LONG + 7];

    /// Returns the bytes read, the result, and the threads that read them.
    fn read_of(length: usize, then: Option<ErrorKind>) -> (Vec<u8>, io::Result<()>, HashSet<ThreadId>) {
        let asked = Mutex::default();
        let mut bytes = Vec::new();
        let input = Bytes { given: 0, length, then, asked: &asked };
        let result = ahead(input, |mut input| input.read_to_end(&mut bytes).map(drop));
        (bytes, result, asked.into_inner().unwrap())
    }

    #[test]
    fn long_list_is_read_in_order_by_thread() {
        for length in LENGTHS {
            let (bytes, result, asked) = read_of(length, None);
            assert!(result.is_ok() && bytes.len() == length, "{} of {length} bytes", bytes.len());
            assert!(bytes.iter().enumerate().all(|(at, byte)| *byte == byte_at(at)), "{length} bytes");
            assert_eq!(asked.len(), if length > LONG { 2 } else { 1 }, "{length} bytes");
        }
    }

    #[test]
    fn errors_follow_earlier_bytes_and_interrupts_continue() {
        for length in LENGTHS {
            let (bytes, result, _) = read_of(length, Some(ErrorKind::FileTooLarge));
            assert_eq!((bytes.len(), result.unwrap_err().kind()), (length, ErrorKind::FileTooLarge));
            let (bytes, result, _) = read_of(length, Some(ErrorKind::Interrupted));
            assert!(result.is_ok() && bytes.len() == length, "{} of {length} bytes", bytes.len());
        }
    }

    #[test]
    fn reader_can_stop_early() {
        let asked = Mutex::default();
        let input = Bytes { given: 0, length: usize::MAX, then: None, asked: &asked };
        let read = ahead(input, |mut input| {
            let mut some = vec![0; 2 * LONG];
            input.read_exact(&mut some).map(|()| some.len())
        });
        assert_eq!(read.unwrap(), 2 * LONG);
    }

    /// An input that reports its own end over a channel when it is dropped.
    struct Ends<'a>(Bytes<'a>, mpsc::Sender<()>);

    impl Read for Ends<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            self.0.read(into)
        }
    }

    impl Drop for Ends<'_> {
        fn drop(&mut self) {
            _ = self.1.send(());
        }
    }

    #[test]
    fn file_is_closed_before_sorting() {
        for (length, wanted) in [(LONG, LONG), (3 * LONG, 3 * LONG), (usize::MAX, 2 * LONG), (usize::MAX, 1)]
        {
            let asked = Mutex::default();
            let (ends, ended) = mpsc::channel();
            let input = Ends(Bytes { given: 0, length, then: None, asked: &asked }, ends);
            ahead(input, |input| {
                io::copy(&mut input.take(wanted as u64), &mut io::sink()).unwrap();
                ended.recv_timeout(Duration::from_secs(60)).expect("it is dropped");
            });
        }
    }
}
