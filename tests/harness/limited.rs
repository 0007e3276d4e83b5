//! Waiting with a limit. Whatever a test waits for, it learns after this time at the latest that it waits in vain.

use std::io::{self, ErrorKind, Read};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Less than the runner of tests gives a whole test, so that the test itself says what did not end.
const LIMIT: Duration = Duration::from_secs(100);

const PAUSE: Duration = Duration::from_millis(2);

/// Programs that are run to their end.
pub trait LimitedCommand {
    fn limited_output(&mut self) -> io::Result<Output>;
    fn limited_status(&mut self) -> io::Result<ExitStatus>;
}

/// Programs that run already. One that does not end is killed.
pub trait LimitedChild {
    fn limited_wait(&mut self) -> io::Result<ExitStatus>;
    fn limited_wait_with_output(self) -> io::Result<Output>;
}

/// Connections that are expected.
pub trait LimitedListener {
    fn limited_accept(&self) -> io::Result<(TcpStream, SocketAddr)>;
}

impl LimitedCommand for Command {
    fn limited_output(&mut self) -> io::Result<Output> {
        self.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?.limited_wait_with_output()
    }

    fn limited_status(&mut self) -> io::Result<ExitStatus> {
        self.spawn()?.limited_wait()
    }
}

impl LimitedChild for Child {
    fn limited_wait(&mut self) -> io::Result<ExitStatus> {
        drop(self.stdin.take());
        let begun = Instant::now();
        while begun.elapsed() < LIMIT {
            if let Some(status) = self.try_wait()? {
                return Ok(status);
            }
            thread::sleep(PAUSE);
        }
        self.kill()?;
        self.wait()?;
        Err(too_late("a program does not end, and was killed"))
    }

    fn limited_wait_with_output(mut self) -> io::Result<Output> {
        let (stdout, stderr) = (read_aside(self.stdout.take()), read_aside(self.stderr.take()));
        let status = self.limited_wait()?;
        Ok(Output { status, stdout: read(stdout)?, stderr: read(stderr)? })
    }
}

impl LimitedListener for TcpListener {
    fn limited_accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        self.set_nonblocking(true)?;
        let begun = Instant::now();
        loop {
            match self.accept() {
                Err(error) if error.kind() == ErrorKind::WouldBlock && begun.elapsed() < LIMIT => {
                    thread::sleep(PAUSE)
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return Err(too_late("nobody connects"));
                }
                accepted => {
                    let (stream, from) = accepted?;
                    stream.set_nonblocking(false)?;
                    return Ok((stream, from));
                }
            }
        }
    }
}

type Reading = Option<JoinHandle<io::Result<Vec<u8>>>>;

/// A pipe may be full before the program ends.
fn read_aside(pipe: Option<impl Read + Send + 'static>) -> Reading {
    pipe.map(|mut pipe| {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            pipe.read_to_end(&mut bytes).map(|_| bytes)
        })
    })
}

/// What the program left running may hold its pipe open.
fn read(reading: Reading) -> io::Result<Vec<u8>> {
    let Some(thread) = reading else { return Ok(Vec::new()) };
    let begun = Instant::now();
    while !thread.is_finished() {
        if begun.elapsed() > LIMIT {
            return Err(too_late("a program has ended, and something that it started holds its output open"));
        }
        thread::sleep(Duration::from_micros(200));
    }
    thread.join().unwrap_or_else(|_| Err(io::Error::other("reading panicked")))
}

fn too_late(what: &str) -> io::Error {
    io::Error::new(ErrorKind::TimedOut, format!("{what}, after {} s", LIMIT.as_secs()))
}
