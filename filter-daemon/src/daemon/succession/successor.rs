//! The part of the old filterd: passes its place to another one.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use tracing::{info, warn};

use super::super::owner::Owner;
use super::{BYE, DONE, MARGIN, PATIENCE, REFUSED};
use crate::clock;
use crate::control::{ServerHandle, descriptors};
use crate::lock::Lock;
use crate::text::{Explain, Explanation};

/// Releases everything, and waits whether the other filterd takes over. Returns true if it did, so that this
/// one only has to end.
///
/// No request is served meanwhile; clients that connect wait for the next holder of the socket. If entries
/// would be lost, the other filterd is refused instead.
pub fn hand_over(owner: &mut Owner, stream: UnixStream, socket: &ServerHandle, state: Option<&Lock>) -> bool {
    owner.settle();
    if let Some(why) = owner.would_lose() {
        warn!("another filterd may not take over: {why}");
        // If it cannot read the reason, it sees that the connection is closed.
        _ = refuse(stream, &why);
        return false;
    }
    info!("another filterd is taking over: requests wait");
    owner.hand_over_journal();
    owner.let_go_of_feeds();
    match talk(stream, socket, state) {
        Ok(()) => {
            socket.mark_handed_over();
            // Work that the broker still does must not touch what belongs to the other one.
            owner.give_way();
            true
        }
        Err(error) => {
            warn!("the other filterd did not take over ({error}): this one continues");
            owner.come_back_to_feeds();
            if let Err(error) = owner.come_back() {
                tracing::error!("{}", error.explain());
            }
            false
        }
    }
}

/// Sends a refusal: zero in place of the time limit, no descriptors, and the reason.
pub(super) fn refuse(mut stream: UnixStream, why: &Explanation) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(&REFUSED.to_le_bytes())?;
    Ok(serde_json::to_writer(stream, why)?)
}

fn talk(mut stream: UnixStream, socket: &ServerHandle, state: Option<&Lock>) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut all: Vec<OwnedFd> = socket.share()?.into();
    all.extend(state.map(Lock::share).transpose()?);
    let too_late = clock::uptime() + PATIENCE - MARGIN;
    descriptors::send(&stream, too_late.as_millis() as u64, &all)?;
    drop(all);
    let mut word = [0; 1];
    stream.read_exact(&mut word).map_err(silence)?;
    if word != [DONE] {
        return Err(io::Error::other("it sent an unexpected message"));
    }
    stream.write_all(&[BYE])
}

/// Replaces the system's message for a timeout by a plain one.
fn silence(error: io::Error) -> io::Error {
    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) {
        return io::Error::other(format!("it was silent for {} s", PATIENCE.as_secs()));
    }
    error
}
