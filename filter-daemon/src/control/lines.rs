//! Reads lines from a socket, with a limit on their length and on the time that each may take.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};
use tokio::time::timeout;

/// How many bytes are read ahead for each client.
const READ_AHEAD: usize = 16 * 1024;

/// A buffer that grew beyond this size shrinks after its line.
const KEPT: usize = 64 * 1024;

pub struct SocketLines<R> {
    from: BufReader<R>,
    line: Vec<u8>,
    longest: usize,
    patience: Duration,
}

/// Why there is no next line.
#[derive(Debug)]
pub enum LineError {
    /// It is longer than the limit.
    TooLong,
    /// It began, but did not end in time.
    TooSlow,
    Failed(io::Error),
}

impl<R: AsyncRead + Unpin> SocketLines<R> {
    /// Lines of at most `longest` bytes, each complete within `patience` of its first byte.
    pub fn new(from: R, longest: usize, patience: Duration) -> Self {
        Self { from: BufReader::with_capacity(READ_AHEAD, from), line: Vec::new(), longest, patience }
    }

    /// Waits for the next line without a time limit, and returns it without its end. Bytes between the last
    /// line end and the end of the stream are a line, too.
    pub async fn next(&mut self) -> Result<Option<&[u8]>, LineError> {
        self.line.clear();
        self.line.shrink_to(KEPT);
        if self.from.fill_buf().await.map_err(LineError::Failed)?.is_empty() {
            return Ok(None);
        }
        // One byte more than a complete line, so that a line that is too long is recognised.
        let mut bounded = (&mut self.from).take(self.longest as u64 + 2);
        match timeout(self.patience, bounded.read_until(b'\n', &mut self.line)).await {
            Err(_) => return Err(LineError::TooSlow),
            Ok(Err(error)) => return Err(LineError::Failed(error)),
            Ok(Ok(_)) => {}
        }
        if self.line.last() == Some(&b'\n') {
            self.line.pop();
        }
        if self.line.len() > self.longest {
            return Err(LineError::TooLong);
        }
        Ok(Some(&self.line))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt;

    use super::*;

    const PATIENCE: Duration = Duration::from_millis(50);

    #[tokio::test]
    async fn lines_arrive_without_ends() {
        let mut lines = SocketLines::new(&b"one\n\ntwo"[..], 3, PATIENCE);
        assert_eq!(lines.next().await.unwrap(), Some(&b"one"[..]));
        assert_eq!(lines.next().await.unwrap(), Some(&b""[..]));
        assert_eq!(lines.next().await.unwrap(), Some(&b"two"[..]));
        assert_eq!(lines.next().await.unwrap(), None);
    }

    #[tokio::test]
    async fn a_line_too_long_is_not_kept() {
        for text in ["four\n", "four", "much longer than four"] {
            let mut lines = SocketLines::new(text.as_bytes(), 3, PATIENCE);
            assert!(matches!(lines.next().await, Err(LineError::TooLong)), "{text}");
        }
        let endless = tokio::io::repeat(b'x');
        let mut lines = SocketLines::new(endless, 1 << 20, Duration::from_secs(10));
        assert!(matches!(lines.next().await, Err(LineError::TooLong)));
        assert!(lines.line.capacity() <= 4 << 20);
    }

    #[tokio::test(start_paused = true)]
    async fn unfinished_line_times_out() {
        let (mut near, far) = tokio::io::duplex(64);
        let mut lines = SocketLines::new(far, 64, PATIENCE);
        near.write_all(b"half a li").await.unwrap();
        assert!(matches!(lines.next().await, Err(LineError::TooSlow)));
    }

    #[tokio::test(start_paused = true)]
    async fn silence_is_no_fault() {
        let (near, far) = tokio::io::duplex(64);
        let mut lines = SocketLines::new(far, 64, PATIENCE);
        assert!(timeout(3 * PATIENCE, lines.next()).await.is_err());
        drop(near);
        assert!(matches!(lines.next().await, Ok(None)));
    }
}
