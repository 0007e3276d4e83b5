//! Writes the bytes of a long list in a separate thread while the list is read. The thread waits for the file
//! system while the reader parses lines.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Scope};

/// A shorter list is written before a thread would have started.
const LONG: usize = 1 << 20;

/// The number of the reader's buffers that may wait to be written: a megabyte. Then the reader waits.
const AHEAD: usize = 8;

/// Calls `read`, and writes the bytes that it passes on into `copy`. All of them are written when this
/// returns.
pub fn beside<T>(copy: impl Write + Send, read: impl FnOnce(&mut (dyn Write + Send)) -> T) -> T {
    let copy = Mutex::new(copy);
    thread::scope(|scope| {
        read(&mut BackgroundWriter { scope, copy: &copy, length: 0, thread: WriterThread::Later })
    })
}

struct BackgroundWriter<'scope, 'env, W> {
    scope: &'scope Scope<'scope, 'env>,
    copy: &'env Mutex<W>,
    length: usize,
    thread: WriterThread,
}

enum WriterThread {
    /// The list is too short for a thread so far.
    Later,
    /// The thread writes the bytes that it receives here.
    Writes(SyncSender<Vec<u8>>),
    /// No thread could be started.
    None,
}

impl<W: Write + Send> BackgroundWriter<'_, '_, W> {
    fn begin(&self) -> WriterThread {
        let (bytes, come) = sync_channel(AHEAD);
        let copy = self.copy;
        let thread = thread::Builder::new().name("copying".to_owned());
        match thread.spawn_scoped(self.scope, move || write_all(&come, copy)) {
            Ok(_) => WriterThread::Writes(bytes),
            Err(_) => WriterThread::None,
        }
    }
}

impl<W: Write + Send> Write for BackgroundWriter<'_, '_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.length = self.length.saturating_add(bytes.len());
        if matches!(self.thread, WriterThread::Later) && self.length > LONG {
            self.thread = self.begin();
        }
        match &self.thread {
            // The thread ends before us only if it panicked, in which case its scope panics as well.
            WriterThread::Writes(thread) => _ = thread.send(bytes.to_vec()),
            WriterThread::Later | WriterThread::None => write(self.copy, bytes)?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A copy that cannot be written reports its error when it is to be kept (`draft`), and does not stop the
/// reader.
fn write_all(come: &Receiver<Vec<u8>>, copy: &Mutex<impl Write>) {
    come.iter().for_each(|bytes| _ = write(copy, &bytes));
}

fn write(copy: &Mutex<impl Write>, bytes: &[u8]) -> io::Result<()> {
    copy.lock().unwrap_or_else(PoisonError::into_inner).write_all(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A slow writer, so that the reader gets ahead of it.
    #[derive(Default)]
    struct Slow(Vec<u8>, Vec<thread::ThreadId>);

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            thread::sleep(std::time::Duration::from_micros(200));
            self.1.push(thread::current().id());
            self.0.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn all_bytes_are_written_in_order() {
        for length in [0, 1, LONG - 1, LONG, LONG + 1, 3 * LONG + 7] {
            let bytes: Vec<u8> = (0..length).map(|number| (number % 251) as u8).collect();
            let mut copy = Slow::default();
            let read = beside(&mut copy, |copy| {
                bytes.chunks(64 * 1024).for_each(|bytes| copy.write_all(bytes).unwrap());
                length
            });
            assert_eq!(read, length);
            assert!(copy.0 == bytes, "{} of {length} bytes", copy.0.len());
            let is_alone = copy.1.iter().all(|thread| *thread == thread::current().id());
            assert_eq!(is_alone, length <= LONG, "{length} bytes");
        }
    }
}
