//! The process that fetches once: it reads an order, restricts itself, asks the network, and says what comes. Its standard input
//! is what it may fetch, from the process that started it; its standard output is the socket of the one that orders.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::getppid;
use rustix::thread::set_name;

use super::authorities;
use super::client;
use super::message::{self, Head};
use super::order::Order;
use super::permits::Permits;
use super::restrict;

/// The verb that makes a filterd this process; nobody types it.
pub const VERB: &str = "fetch";

/// Is that process, for the one that started it.
pub fn be(spawner: u32) -> io::Result<()> {
    set_name(c"filterd-fetch")?;
    // Should whoever started it be killed, so is it; and if that was just before, it ends by itself.
    set_pdeathsig(Signal::SIGKILL)?;
    if u32::try_from(getppid().as_raw()) != Ok(spawner) {
        return Err(io::Error::other("whoever started it has ended"));
    }
    let permits: Permits = serde_json::from_reader(io::stdin().lock())?;
    let mut line = UnixStream::from(io::stdout().as_fd().try_clone_to_owned()?);
    let order: Order = message::receive(&mut line)?;
    if let Err(error) = permits.check(&order) {
        return message::send(&mut line, &Head::Failed(error));
    }
    let authorities = authorities::read();
    match restrict::child(&order) {
        Ok(()) => client::fetch(&order, &authorities, &mut line),
        // Whoever could do more than fetch does nothing.
        Err(error) => message::send(&mut line, &Head::Failed(error)),
    }
}
