//! The output of the log, which never blocks the daemon. A line that cannot be written at once is lost and
//! counted. A closed terminal, a reader that ended or sleeps, or a full disk neither ends nor delays the
//! daemon.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::sync::{Arc, Mutex, PoisonError};

use nix::fcntl::OFlag;
use nix::sys::socket::{MsgFlags, send};

pub struct Sink {
    to: SinkOutput,
    state: Mutex<SinkState>,
}

enum SinkOutput {
    /// A socket, such as that of journald. Each message sets a flag not to wait.
    Socket(OwnedFd),
    /// Any other file. Pipes and terminals are opened again, so that the flag not to wait does not apply to
    /// processes that share them.
    File(File),
    /// There is no standard error.
    Nowhere,
}

#[derive(Default)]
struct SinkState {
    /// The rest of a line that was written in part.
    rest: Vec<u8>,
    /// How many lines were lost since the last written one.
    lost: u64,
}

/// A writer of one line, which never fails.
pub struct LogWriter(pub Arc<Sink>);

impl Sink {
    /// The output behind standard error.
    pub fn of_standard_error() -> Self {
        io::stderr().as_fd().try_clone_to_owned().map_or_else(|_| Self::nowhere(), Self::of)
    }

    fn nowhere() -> Self {
        Self { to: SinkOutput::Nowhere, state: Mutex::default() }
    }

    /// The output behind this descriptor.
    pub fn of(descriptor: OwnedFd) -> Self {
        let file = File::from(descriptor);
        let kind = file.metadata().map(|file| file.file_type());
        let to = match kind {
            Ok(kind) if kind.is_socket() => SinkOutput::Socket(file.into()),
            // A file that cannot be opened again is written with waiting.
            Ok(kind) if kind.is_fifo() || kind.is_char_device() => {
                SinkOutput::File(anew(&file).unwrap_or(file))
            }
            _ => SinkOutput::File(file),
        };
        Self { to, state: Mutex::default() }
    }

    /// Whether this is the socket that journald announced in the environment.
    pub fn is_journal(&self) -> bool {
        let said = std::env::var("JOURNAL_STREAM").unwrap_or_default();
        let SinkOutput::Socket(socket) = &self.to else { return false };
        let file = socket.try_clone().map(File::from).and_then(|file| file.metadata());
        file.is_ok_and(|file| said == format!("{}:{}", file.dev(), file.ino()))
    }

    /// How many lines were lost since the last written one.
    pub fn lost(&self) -> u64 {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).lost
    }

    /// Writes these lines, or counts one more lost line.
    pub fn put(&self, lines: &[u8]) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let rest = std::mem::take(&mut state.rest);
        let behind = self.write(&rest);
        if behind < rest.len() {
            state.rest = rest[behind..].to_vec();
            state.lost += 1;
            return;
        }
        match self.write(lines) {
            0 => state.lost += 1,
            written => (state.rest, state.lost) = (lines[written..].to_vec(), 0),
        }
    }

    /// Writes as many of these bytes as possible without waiting.
    fn write(&self, bytes: &[u8]) -> usize {
        let mut written = 0;
        while written < bytes.len() {
            match self.write_some(&bytes[written..]) {
                Ok(0) => break,
                Ok(some) => written += some,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        written
    }

    fn write_some(&self, bytes: &[u8]) -> io::Result<usize> {
        match &self.to {
            SinkOutput::Socket(socket) => {
                Ok(send(socket.as_raw_fd(), bytes, MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL)?)
            }
            SinkOutput::File(file) => (&*file).write(bytes),
            SinkOutput::Nowhere => Ok(0),
        }
    }
}

fn anew(file: &File) -> io::Result<File> {
    let flags = OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    OpenOptions::new().write(true).custom_flags(flags.bits()).open(path)
}

impl Write for LogWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.put(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    use super::*;

    const LINE: &[u8] = &[b'x'; 1000];

    #[test]
    fn full_pipe_loses_and_counts_lines() {
        let (mut reader, writer) = io::pipe().unwrap();
        let shared = writer.try_clone().unwrap();
        let sink = Sink::of(writer.into());
        (0..1000).for_each(|_| sink.put(LINE));
        let lost = sink.lost();
        assert!((900..1000).contains(&lost), "{lost}");
        let mut some = [0; 32_768];
        reader.read_exact(&mut some).unwrap();
        sink.put(b"again");
        assert_eq!(sink.lost(), 0);
        // Other holders of the pipe still wait.
        let flags = nix::fcntl::fcntl(&shared, nix::fcntl::FcntlArg::F_GETFL).unwrap();
        assert!(!OFlag::from_bits_truncate(flags).contains(OFlag::O_NONBLOCK));
    }

    #[test]
    fn full_socket_blocks_nothing_and_tears_no_line() {
        let (mut reader, writer) = UnixStream::pair().unwrap();
        let sink = Sink::of(writer.into());
        (0..10_000).for_each(|_| sink.put(b"0123456789\n"));
        assert!(sink.lost() > 0);
        let mut read = [0; 100_000];
        let mut text = Vec::new();
        reader.set_nonblocking(true).unwrap();
        while let Ok(some) = reader.read(&mut read) {
            text.extend_from_slice(&read[..some]);
        }
        sink.put(b"again\n");
        while let Ok(some) = reader.read(&mut read) {
            text.extend_from_slice(&read[..some]);
        }
        let text = String::from_utf8(text).unwrap();
        assert!(text.lines().all(|line| line == "0123456789" || line == "again"));
        assert!(text.ends_with("again\n"));
    }

    #[test]
    fn closed_reader_and_full_disk_are_survived() {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        for sink in [Sink::of(writer.into()), Sink::of(full.into()), Sink::nowhere()] {
            sink.put(LINE);
            sink.put(LINE);
            assert_eq!(sink.lost(), 2);
        }
    }

    #[test]
    fn a_file_goes_on_where_it_was() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"before\n").unwrap();
        let sink = Sink::of(file.as_file().try_clone().unwrap().into());
        sink.put(b"after\n");
        assert_eq!(std::fs::read_to_string(file.path()).unwrap(), "before\nafter\n");
    }
}
