//! One netlink request to the kernel and all of its replies, on the calling thread.

use std::io;

use rtnetlink::packet_core::{
    DecodeError, DefaultNla, Emitable, NLA_HEADER_SIZE, NLM_F_DUMP, NLM_F_REQUEST, NetlinkDeserializable,
    NetlinkHeader, NetlinkMessage, NetlinkPayload, NetlinkSerializable, Nla, NlaBuffer,
};
use rtnetlink::sys::{Socket, SocketAddr};

/// The largest datagram that the kernel sends.
const PIECE: usize = 64 * 1024;

/// The most messages that are kept; no machine has that many.
const MOST: usize = 100_000;

/// A message in generic netlink or netfilter format: four bytes, followed by attributes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttributeMessage {
    pub kind: u16,
    /// The command or family, and the version.
    pub head: [u8; HEAD],
    /// The attributes after the head.
    pub attributes: Vec<DefaultNla>,
}

const HEAD: usize = 4;

/// Requests a single object.
pub fn ask<T>(protocol: isize, question: T) -> io::Result<Vec<T>>
where
    T: NetlinkSerializable + NetlinkDeserializable,
{
    talk(protocol, question, NLM_F_REQUEST)
}

/// Requests all objects of a kind.
pub fn list<T>(protocol: isize, question: T) -> io::Result<Vec<T>>
where
    T: NetlinkSerializable + NetlinkDeserializable,
{
    talk(protocol, question, NLM_F_REQUEST | NLM_F_DUMP)
}

fn talk<T>(protocol: isize, question: T, flags: u16) -> io::Result<Vec<T>>
where
    T: NetlinkSerializable + NetlinkDeserializable,
{
    let mut header = NetlinkHeader::default();
    header.flags = flags;
    let mut message = NetlinkMessage::new(header, NetlinkPayload::InnerMessage(question));
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    let mut answers = Vec::new();
    let goes_on = flags & NLM_F_DUMP == NLM_F_DUMP;
    exchange(protocol, &bytes, |answer| {
        answers.push(answer);
        goes_on && answers.len() <= MOST
    })?;
    Ok(answers)
}

/// Sends a serialized request, and passes every reply to `takes` until that returns false.
pub fn exchange<T: NetlinkDeserializable>(
    protocol: isize,
    request: &[u8],
    mut takes: impl FnMut(T) -> bool,
) -> io::Result<()> {
    let mut socket = Socket::new(protocol)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    socket.send(request, 0)?;
    let mut piece = vec![0; PIECE];
    loop {
        let length = socket.recv(&mut &mut piece[..], 0)?;
        if take(&piece[..length], &mut takes)? {
            return Ok(());
        }
    }
}

/// Passes on the messages of one datagram. Returns true if it was the last, or if no more are wanted.
fn take<T: NetlinkDeserializable>(mut piece: &[u8], takes: &mut impl FnMut(T) -> bool) -> io::Result<bool> {
    let mut goes_on = true;
    while !piece.is_empty() {
        let message = NetlinkMessage::<T>::deserialize(piece).map_err(io::Error::other)?;
        let length = (message.header.length as usize).next_multiple_of(4).max(4);
        match message.payload {
            // An error during a dump is reported at its end.
            NetlinkPayload::Done(end) if end.code < 0 => return Err(io::Error::from_raw_os_error(-end.code)),
            NetlinkPayload::Done(_) => return Ok(true),
            NetlinkPayload::Error(error) => return Err(error.to_io()),
            NetlinkPayload::InnerMessage(answer) => goes_on &= takes(answer),
            NetlinkPayload::Noop | NetlinkPayload::Overrun(_) | _ => {}
        }
        piece = piece.get(length..).unwrap_or_default();
    }
    Ok(!goes_on)
}

impl AttributeMessage {
    /// The attribute with this number.
    pub fn attribute(&self, kind: u16) -> Option<Vec<u8>> {
        let found = self.attributes.iter().find(|attribute| attribute.kind() == kind)?;
        Some(value(found))
    }
}

/// The attribute with this number among nested ones.
pub fn within(bytes: &[u8], kind: u16) -> Option<&[u8]> {
    each(bytes).find(|(number, _)| *number == kind).map(|(_, value)| value)
}

/// Iterates over nested attributes.
pub fn each(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(NlaBuffer::new_checked(bytes).ok()?.length());
        let attribute = &bytes[..length];
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((NlaBuffer::new(attribute).kind(), &attribute[NLA_HEADER_SIZE..]))
    })
}

/// A text that ends with a zero byte.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned()
}

fn value(attribute: &DefaultNla) -> Vec<u8> {
    let mut bytes = vec![0; attribute.value_len()];
    attribute.emit_value(&mut bytes);
    bytes
}

impl NetlinkSerializable for AttributeMessage {
    fn message_type(&self) -> u16 {
        self.kind
    }

    fn buffer_len(&self) -> usize {
        HEAD + self.attributes.as_slice().buffer_len()
    }

    fn serialize(&self, buffer: &mut [u8]) {
        buffer[..HEAD].copy_from_slice(&self.head);
        self.attributes.as_slice().emit(&mut buffer[HEAD..]);
    }
}

impl NetlinkDeserializable for AttributeMessage {
    type Error = DecodeError;

    fn deserialize(header: &NetlinkHeader, payload: &[u8]) -> Result<Self, DecodeError> {
        let (head, rest) =
            payload.split_first_chunk().ok_or_else(|| DecodeError::from("a message without a head"))?;
        let attributes = each(rest).map(|(kind, value)| DefaultNla::new(kind, value.to_vec())).collect();
        Ok(Self { kind: header.message_type, head: *head, attributes })
    }
}

impl From<AttributeMessage> for NetlinkPayload<AttributeMessage> {
    fn from(message: AttributeMessage) -> Self {
        Self::InnerMessage(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_comes_back_as_it_went() {
        let attributes = vec![DefaultNla::new(1, vec![7, 0, 0, 0]), DefaultNla::new(2, b"eth0\0".to_vec())];
        let message = AttributeMessage { kind: 16, head: [3, 1, 0, 0], attributes };
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        let mut header = NetlinkHeader::default();
        header.message_type = 16;
        let read = AttributeMessage::deserialize(&header, &bytes).unwrap();
        assert_eq!(read, message);
        assert_eq!(read.attribute(2).map(|name| text(&name)).as_deref(), Some("eth0"));
        assert!(AttributeMessage::deserialize(&header, &bytes[..3]).is_err());
    }

    /// The result of `take`, and the number of messages that it passed on.
    fn taken(piece: &[u8]) -> (io::Result<bool>, usize) {
        let mut shown = 0;
        let last = take(piece, &mut |_: AttributeMessage| {
            shown += 1;
            true
        });
        (last, shown)
    }

    /// The end of a dump with this error code.
    fn end(code: i32) -> Vec<u8> {
        const DONE: u16 = 3;
        let head = [20_u32.to_ne_bytes().as_slice(), &DONE.to_ne_bytes(), &[0; 10]].concat();
        [head, code.to_ne_bytes().to_vec()].concat()
    }

    #[test]
    fn malformed_datagram_is_an_error() {
        assert!(taken(&[1, 2, 3]).0.is_err());
        let (last, shown) = taken(&[]);
        assert_eq!((last.unwrap(), shown), (false, 0));
    }

    #[test]
    fn dump_error_is_returned() {
        assert!(taken(&end(0)).0.unwrap());
        let refused = taken(&end(-nix::libc::EACCES)).0.unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
    }
}
