//! The line between the two processes: one message a packet, with at most one descriptor beside it.

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
use super::request::Answer;

/// A verifier's log is cut to less than this, and the settings of a judge that asks for eight clauses in tables of every
/// length take less; everything else is much shorter.
const LONGEST: usize = 128 * 1024;

/// One end.
pub struct Line(OwnedFd);

impl Line {
    /// Both ends.
    pub fn pair() -> Result<(Self, OwnedFd), KernelError> {
        let (one, other) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
            .map_err(|error| KernelError::load("make a socket", error))?;
        Ok((Self(one), other))
    }

    /// This end.
    pub fn of(socket: OwnedFd) -> Self {
        Self(socket)
    }

    /// Sends a message, and a descriptor with it.
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

    /// The next message, with its descriptor; none when the other end is gone.
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

    /// The next answer. There must be one.
    pub fn answer(&mut self) -> Result<(Answer, Option<OwnedFd>), KernelError> {
        self.receive()?.ok_or_else(|| KernelError::broker_gone("it has ended"))
    }
}

/// Signals interrupt nothing.
fn again<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            other => return other,
        }
    }
}
