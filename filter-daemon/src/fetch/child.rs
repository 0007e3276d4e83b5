//! The process that makes one fetch. It reads an order, restricts itself, asks the network, and reports the
//! result. Standard input contains its permits, from the process that started it. Standard output is the
//! socket to the daemon that gave the order.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::getppid;
use rustix::thread::set_name;

use super::authorities;
use super::client;
use super::message::{self, FetchHead};
use super::order::FetchOrder;
use super::permits::Permits;
use super::restrict;

/// The internal command that makes filterd this process; users do not call it.
pub const VERB: &str = "fetch";

/// Runs the fetching process for the spawner with this process ID.
pub fn be(spawner: u32) -> io::Result<()> {
    set_name(c"filterd-fetch")?;
    // If the spawner is killed later, the kernel kills this process. If it was killed just before, the
    // check below ends it.
    set_pdeathsig(Signal::SIGKILL)?;
    if u32::try_from(getppid().as_raw()) != Ok(spawner) {
        return Err(io::Error::other("whoever started it has ended"));
    }
    let permits: Permits = serde_json::from_reader(io::stdin().lock())?;
    let mut line = UnixStream::from(io::stdout().as_fd().try_clone_to_owned()?);
    let order: FetchOrder = message::receive(&mut line)?;
    if let Err(error) = permits.check(&order) {
        return message::send(&mut line, &FetchHead::Failed(error));
    }
    let authorities = authorities::read();
    match restrict::child(&order) {
        Ok(()) => client::fetch(&order, &authorities, &mut line),
        // A process that could do more than fetch must not fetch.
        Err(error) => message::send(&mut line, &FetchHead::Failed(error)),
    }
}
