//! What the daemon and a fetching process say to each other: messages with their length before them, and between head and
//! end the pieces of a body, likewise.

use std::io::{self, ErrorKind, Read, Write};
use std::net::IpAddr;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::error::FetchError;

/// An order has an address, credentials and a host's addresses, a head what servers write in headers.
pub const LONGEST: usize = 256 * 1024;

/// One piece of a body.
pub const LONGEST_PIECE: usize = 64 * 1024;

/// What comes first.
#[derive(Debug, Serialize, Deserialize)]
pub enum Head {
    /// What is here already is what there is.
    Unchanged { from: Vec<IpAddr> },
    /// Here it comes.
    Body {
        etag: Option<String>,
        last_modified: Option<String>,
        content_type: Option<String>,
        from: Vec<IpAddr>,
    },
    /// Nothing comes.
    Failed(FetchError),
}

/// What comes last.
#[derive(Debug, Serialize, Deserialize)]
pub enum End {
    /// That was all of it.
    Whole,
    /// That was not all of it.
    Failed(FetchError),
}

/// Says it.
pub fn send(to: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let bytes = serde_json::to_vec(message)?;
    to.write_all(&length(bytes.len())?)?;
    to.write_all(&bytes)
}

/// Hears it. Whoever says more than `LONGEST` is not listened to.
pub fn receive<T: DeserializeOwned>(from: &mut impl Read) -> io::Result<T> {
    let length = receive_length(from, LONGEST)?;
    let mut bytes = vec![0; length];
    from.read_exact(&mut bytes)?;
    Ok(serde_json::from_slice(&bytes)?)
}

/// A piece of a body; one without bytes says that there are no more, and an end follows.
pub fn send_piece(to: &mut impl Write, piece: &[u8]) -> io::Result<()> {
    to.write_all(&length(piece.len())?)?;
    to.write_all(piece)
}

/// How long what follows is.
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
