//! Somebody who gives back what he is given, and does nothing else: what any answer over a socket takes on this machine.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

use super::timed;

/// A line to him.
pub struct Echo(UnixStream);

impl Echo {
    /// Starts his thread, which ends when the line is hung up.
    pub fn new() -> Result<Self> {
        let (own, mut other) = UnixStream::pair()?;
        thread::spawn(move || {
            let mut said = [0; 64];
            while other.read_exact(&mut said).and_then(|()| other.write_all(&said)).is_ok() {}
        });
        Ok(Self(own))
    }

    /// There and back.
    pub fn call(&self) -> Result<Duration> {
        let mut said = [0; 64];
        let (heard, took) =
            timed(|| (&self.0).write_all(&said).and_then(|()| (&self.0).read_exact(&mut said)));
        heard.context("there is no echo")?;
        Ok(took)
    }
}
