//! A file system in which operations fail.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Lets one operation fail, or that one and all later ones, as if the process had died there.
#[derive(Debug)]
pub struct Faults {
    done: AtomicUsize,
    at: usize,
    is_the_end: bool,
}

impl Faults {
    pub fn at(at: usize, is_the_end: bool) -> Self {
        Self { done: AtomicUsize::new(0), at, is_the_end }
    }

    pub fn next(&self) -> io::Result<()> {
        let number = self.done.fetch_add(1, Ordering::Relaxed);
        let fails = number == self.at || self.is_the_end && number > self.at;
        if fails { Err(io::Error::from_raw_os_error(nix::libc::EIO)) } else { Ok(()) }
    }

    /// The number of operations so far.
    pub fn done(&self) -> usize {
        self.done.load(Ordering::Relaxed)
    }
}
