//! The socket between daemon and broker: one message a packet, with at most one descriptor.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::super::KernelError;
use super::request::Reply;

/// The longest message. A verifier's log is cut to less than this. The settings of a judge with eight clauses
/// and tables of every length take less, and everything else is much shorter.
const LONGEST: usize = 128 * 1024;

pub struct BrokerSocket(OwnedFd);

impl BrokerSocket {
    /// Makes a connected pair of sockets.
    pub fn pair() -> Result<(Self, OwnedFd), KernelError> {
        let (one, other) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
            .map_err(|error| KernelError::load("make a socket", error))?;
        Ok((Self(one), other))
    }

    pub fn of(socket: OwnedFd) -> Self {
        Self(socket)
    }

    /// Sends a message, and a descriptor if given.
    pub fn send(&mut self, message: &impl Serialize, descriptor: Option<OwnedFd>) -> Result<(), KernelError> {
        let bytes = serde_json::to_vec(message).expect("messages have only text as keys");
        let descriptor = descriptor.as_ref().map(OwnedFd::as_fd);
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut beside = SendAncillaryBuffer::new(&mut space);
        if let Some(descriptor) = &descriptor {
            beside.push(SendAncillaryMessage::ScmRights(std::slice::from_ref(descriptor)));
        }
        again(|| sendmsg(&self.0, &[IoSlice::new(&bytes)], &mut beside, SendFlags::NOSIGNAL))
            .map_err(KernelError::broker_gone)?;
        Ok(())
    }

    /// Receives the next message with its descriptor; none if the other end is closed.
    pub fn receive<T: DeserializeOwned>(&mut self) -> Result<Option<(T, Option<OwnedFd>)>, KernelError> {
        let mut bytes = vec![0; LONGEST];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut beside = RecvAncillaryBuffer::new(&mut space);
        let received = again(|| {
            recvmsg(&self.0, &mut [IoSliceMut::new(&mut bytes)], &mut beside, RecvFlags::CMSG_CLOEXEC)
        });
        let length = received.map_err(KernelError::broker_gone)?.bytes;
        if length == 0 {
            return Ok(None);
        }
        let descriptor = beside.drain().find_map(|message| {
            if let RecvAncillaryMessage::ScmRights(mut descriptors) = message {
                descriptors.next()
            } else {
                None
            }
        });
        let message = serde_json::from_slice(&bytes[..length]).map_err(KernelError::broker_gone)?;
        Ok(Some((message, descriptor)))
    }

    /// Receives the next answer. Fails if the other end is closed.
    pub fn answer(&mut self) -> Result<(Reply, Option<OwnedFd>), KernelError> {
        self.receive()?.ok_or_else(|| KernelError::broker_gone("it has ended"))
    }
}

/// Repeats a call that a signal interrupted.
fn again<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            other => return other,
        }
    }
}
