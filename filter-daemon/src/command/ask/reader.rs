//! Whoever goes on for long notices at once that nobody reads any more, and ends without a word.

use std::io::stdout;
use std::os::fd::AsFd;
use std::process::exit;
use std::thread;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// From now on this process ends when whoever reads its standard output does: without a line to write, it would not know.
pub fn end_with_it() {
    thread::spawn(|| {
        let out = stdout();
        // Nothing is asked for: that the other end is gone is always told.
        let mut out = [PollFd::new(out.as_fd(), PollFlags::empty())];
        let told = loop {
            match poll(&mut out, PollTimeout::NONE) {
                Err(Errno::EINTR) => {}
                told => break told,
            }
        };
        // Of what cannot be polled nothing is told, and it is found out by writing.
        if told.is_ok() && out[0].any() == Some(true) {
            exit(0)
        }
    });
}
