//! Ends a long-running command silently as soon as the reader of its standard output is gone.

use std::io::stdout;
use std::os::fd::AsFd;
use std::process::exit;
use std::thread;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// Makes this process end when the reader of its standard output does. Otherwise it would not notice before
/// it writes the next line.
pub fn end_with_it() {
    thread::spawn(|| {
        let out = stdout();
        // No events are requested, because the kernel always reports a closed other end.
        let mut out = [PollFd::new(out.as_fd(), PollFlags::empty())];
        let told = loop {
            match poll(&mut out, PollTimeout::NONE) {
                Err(Errno::EINTR) => {}
                told => break told,
            }
        };
        // Files that cannot be polled report nothing. Their errors appear when they are written.
        if told.is_ok() && out[0].any() == Some(true) {
            exit(0)
        }
    });
}
