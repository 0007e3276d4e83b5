//! Where the log goes, so that it can do no harm: what cannot be written now is lost and counted, and nobody waits for it. A
//! terminal that is closed, a reader that has left or sleeps, or a full disk must not end the daemon, nor keep it from
//! its work.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::sync::{Arc, Mutex, PoisonError};

use nix::fcntl::OFlag;
use nix::sys::socket::{MsgFlags, send};

/// Where lines go.
pub struct Sink {
    to: To,
    state: Mutex<State>,
}

enum To {
    /// A socket, as journald's: each message says for itself that it will not wait.
    Socket(OwnedFd),
    /// Anything else. Pipes and terminals are opened anew, so that only we, and nobody with whom we share them, do not wait.
    File(File),
    /// There is nothing.
    Nowhere,
}

#[derive(Default)]
struct State {
    /// What is left of a line that was begun.
    rest: Vec<u8>,
    /// How many lines could not be written since one could.
    lost: u64,
}

/// A line on its way; never fails.
pub struct Writer(pub Arc<Sink>);

impl Sink {
    /// Where standard error goes.
    pub fn of_standard_error() -> Self {
        io::stderr().as_fd().try_clone_to_owned().map_or_else(|_| Self::nowhere(), Self::of)
    }

    fn nowhere() -> Self {
        Self { to: To::Nowhere, state: Mutex::default() }
    }

    /// Where this leads.
    pub fn of(descriptor: OwnedFd) -> Self {
        let file = File::from(descriptor);
        let kind = file.metadata().map(|file| file.file_type());
        let to = match kind {
            Ok(kind) if kind.is_socket() => To::Socket(file.into()),
            // One that may not be opened again is waited for.
            Ok(kind) if kind.is_fifo() || kind.is_char_device() => To::File(anew(&file).unwrap_or(file)),
            _ => To::File(file),
        };
        Self { to, state: Mutex::default() }
    }

    /// Is it the one of which journald said that it reads it?
    pub fn is_journal(&self) -> bool {
        let said = std::env::var("JOURNAL_STREAM").unwrap_or_default();
        let To::Socket(socket) = &self.to else { return false };
        let file = socket.try_clone().map(File::from).and_then(|file| file.metadata());
        file.is_ok_and(|file| said == format!("{}:{}", file.dev(), file.ino()))
    }

    /// How many lines were lost since one was written.
    pub fn lost(&self) -> u64 {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).lost
    }

    /// Writes these lines, or counts one more that was lost.
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

    /// As many of these bytes as can be written at once.
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
            To::Socket(socket) => {
                Ok(send(socket.as_raw_fd(), bytes, MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL)?)
            }
            To::File(file) => (&*file).write(bytes),
            To::Nowhere => Ok(0),
        }
    }
}

fn anew(file: &File) -> io::Result<File> {
    let flags = OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    OpenOptions::new().write(true).custom_flags(flags.bits()).open(path)
}

impl Write for Writer {
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
    fn a_full_pipe_whose_reader_sleeps_is_not_waited_for_and_the_lost_lines_are_counted() {
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
        // Whoever else has it waits as before.
        let flags = nix::fcntl::fcntl(&shared, nix::fcntl::FcntlArg::F_GETFL).unwrap();
        assert!(!OFlag::from_bits_truncate(flags).contains(OFlag::O_NONBLOCK));
    }

    #[test]
    fn a_full_socket_is_not_waited_for_either_and_no_line_is_torn() {
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
    fn a_reader_that_has_left_and_a_full_disk_are_nobodys_end() {
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
