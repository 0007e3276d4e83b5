//! Sends descriptors from one process to another, together with a number.

use std::io::{self, ErrorKind, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};

/// More descriptors than are ever sent at once.
const MOST: usize = 8;

/// Sends these descriptors and a number.
pub fn send(stream: &UnixStream, number: u64, descriptors: &[OwnedFd]) -> io::Result<()> {
    let borrowed: Vec<BorrowedFd<'_>> = descriptors.iter().map(AsFd::as_fd).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    if !beside.push(SendAncillaryMessage::ScmRights(&borrowed)) {
        return Err(io::Error::other("too many descriptors"));
    }
    sendmsg(stream, &[IoSlice::new(&number.to_le_bytes())], &mut beside, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Receives them. They must be the first message.
pub fn receive(stream: &UnixStream) -> io::Result<(u64, Vec<OwnedFd>)> {
    let mut number = [0; 8];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    let received =
        recvmsg(stream, &mut [IoSliceMut::new(&mut number)], &mut beside, RecvFlags::CMSG_CLOEXEC)?;
    if received.bytes < number.len() {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    let mut descriptors = Vec::new();
    for message in beside.drain() {
        if let RecvAncillaryMessage::ScmRights(some) = message {
            descriptors.extend(some);
        }
    }
    Ok((u64::from_le_bytes(number), descriptors))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn sent_descriptor_is_the_same_file() {
        let (here, there) = UnixStream::pair().unwrap();
        let (mut one, other) = UnixStream::pair().unwrap();
        send(&here, 7, &[other.into()]).unwrap();
        let (number, mut received) = receive(&there).unwrap();
        assert_eq!((number, received.len()), (7, 1));
        one.write_all(b"hello").unwrap();
        drop(one);
        let mut text = String::new();
        UnixStream::from(received.pop().unwrap()).read_to_string(&mut text).unwrap();
        assert_eq!(text, "hello");
    }

    #[test]
    fn a_line_that_is_closed_brings_none() {
        let (here, there) = UnixStream::pair().unwrap();
        drop(here);
        assert!(receive(&there).is_err());
    }
}
