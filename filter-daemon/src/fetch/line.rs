//! The socket between the daemon and the process that starts fetches. Each packet has the time limit of a
//! fetch, and passes a socket for the fetching process.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};

/// One end of the socket.
pub struct SpawnerSocket(OwnedFd);

impl SpawnerSocket {
    pub fn pair() -> io::Result<(Self, OwnedFd)> {
        let (one, other) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        Ok((Self(one), other))
    }

    /// Wraps this end of the socket.
    pub fn of(socket: OwnedFd) -> Self {
        Self(socket)
    }

    /// Orders a fetch for the owner of the other end of `socket`.
    pub fn send(&self, patience: Duration, socket: BorrowedFd<'_>) -> io::Result<()> {
        let millis = u64::try_from(patience.as_millis()).unwrap_or(u64::MAX).to_be_bytes();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut beside = SendAncillaryBuffer::new(&mut space);
        let sockets = [socket];
        beside.push(SendAncillaryMessage::ScmRights(&sockets));
        again(|| sendmsg(&self.0, &[IoSlice::new(&millis)], &mut beside, SendFlags::NOSIGNAL))?;
        Ok(())
    }

    /// Receives the next order, with the socket passed along; none when the other end is closed.
    pub fn receive(&self) -> io::Result<Option<(Duration, Option<OwnedFd>)>> {
        let mut millis = [0; 8];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut beside = RecvAncillaryBuffer::new(&mut space);
        let mut slices = [IoSliceMut::new(&mut millis)];
        let length = again(|| recvmsg(&self.0, &mut slices, &mut beside, RecvFlags::CMSG_CLOEXEC))?.bytes;
        if length == 0 {
            return Ok(None);
        }
        let socket = beside.drain().find_map(|message| {
            let RecvAncillaryMessage::ScmRights(mut sockets) = message else { return None };
            sockets.next()
        });
        Ok(Some((Duration::from_millis(u64::from_be_bytes(millis)), socket)))
    }
}

impl AsFd for SpawnerSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Repeats calls that a signal interrupted.
fn again<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            other => return other,
        }
    }
}
