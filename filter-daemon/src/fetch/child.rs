//! The process that fetches once: it reads an order, restricts itself, asks the network, and says what comes.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use nix::sys::signal::Signal;
use rustix::thread::set_name;

use super::authorities;
use super::client;
use super::message::{self, Head};
use super::order::Order;
use super::restrict;

/// The verb that makes a filterd this process; nobody types it.
pub const VERB: &str = "fetch";

/// Is that process.
pub fn be() -> io::Result<()> {
    set_name(c"filterd-fetch")?;
    // Should whoever started it be killed, so is it.
    nix::sys::prctl::set_pdeathsig(Signal::SIGKILL)?;
    let mut line = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let order: Order = message::receive(&mut line)?;
    let authorities = authorities::read();
    match restrict::child(&order) {
        Ok(()) => client::fetch(&order, &authorities, &mut line),
        // Whoever could do more than fetch does nothing.
        Err(error) => message::send(&mut line, &Head::Failed(error)),
    }
}
