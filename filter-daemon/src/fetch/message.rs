//! The messages between the daemon and a fetching process. Each message, and each piece of a body between
//! head and end, follows its length.

use std::io::{self, ErrorKind, Read, Write};
use std::net::IpAddr;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::error::FetchError;

/// The most bytes of a message. An order contains a URL, credentials and the addresses of the host; a head
/// contains response headers.
pub const LONGEST: usize = 256 * 1024;

/// The most bytes of one piece of a body.
pub const LONGEST_PIECE: usize = 64 * 1024;

/// The first message of a reply.
#[derive(Debug, Serialize, Deserialize)]
pub enum FetchHead {
    /// The server has nothing newer.
    Unchanged { from: Vec<IpAddr> },
    /// A new version follows.
    Body {
        etag: Option<String>,
        last_modified: Option<String>,
        content_type: Option<String>,
        from: Vec<IpAddr>,
    },
    /// Nothing follows, because the fetch failed.
    Failed(FetchError),
}

/// The last message of a body.
#[derive(Debug, Serialize, Deserialize)]
pub enum BodyEnd {
    /// The body is complete.
    Whole,
    /// The body is incomplete.
    Failed(FetchError),
}

/// Sends a message after its length.
pub fn send(to: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let bytes = serde_json::to_vec(message)?;
    to.write_all(&length(bytes.len())?)?;
    to.write_all(&bytes)
}

/// Receives a message. One longer than `LONGEST` is refused.
pub fn receive<T: DeserializeOwned>(from: &mut impl Read) -> io::Result<T> {
    let length = receive_length(from, LONGEST)?;
    let mut bytes = vec![0; length];
    from.read_exact(&mut bytes)?;
    Ok(serde_json::from_slice(&bytes)?)
}

/// Sends a piece of a body. An empty piece is the last, and an end follows.
pub fn send_piece(to: &mut impl Write, piece: &[u8]) -> io::Result<()> {
    to.write_all(&length(piece.len())?)?;
    to.write_all(piece)
}

/// Receives the length of the next message or piece.
pub fn receive_length(from: &mut impl Read, most: usize) -> io::Result<usize> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = u32::from_be_bytes(length) as usize;
    if length > most {
        return Err(io::Error::new(ErrorKind::InvalidData, "it says more than it may"));
    }
    Ok(length)
}

fn length(bytes: usize) -> io::Result<[u8; 4]> {
    let length = u32::try_from(bytes).map_err(|_| io::Error::from(ErrorKind::InvalidInput))?;
    Ok(length.to_be_bytes())
}
