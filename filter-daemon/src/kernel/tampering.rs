//! What somebody else has changed that only filterd may change, as it is told.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::text::printable;

/// One thing that was not as filterd had left it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Tampering {
    /// The slot through which packets reach the judge held this program, or none.
    Slot(Option<u32>),
    /// A pin led to an object that is not filterd's.
    Pin(PathBuf),
    /// Pins were gone from this directory.
    PinsGone(PathBuf),
    /// The link of this interface was off, or had another program, as these words say.
    Link(String, String),
    /// The tables did not say what they were made to say, in these words.
    Tables(String),
}

impl Tampering {
    /// May it have been a clean-up script that knew no better? Then it is told, and nothing more.
    pub const fn may_be_negligence(&self) -> bool {
        matches!(self, Self::PinsGone(_) | Self::Link(..))
    }
}

impl fmt::Display for Tampering {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Slot(None) => {
                f.write_str("the slot of the judge program was empty, so packets from listed sources passed")
            }
            Self::Slot(Some(program)) => {
                write!(f, "the slot of the judge program held another program (id {program})")
            }
            Self::Pin(path) => {
                write!(f, "the pin {} led to an object that is not filterd's", printable::path(path))
            }
            Self::PinsGone(directory) => {
                write!(f, "pins of filterd were removed from {}", printable::path(directory))
            }
            Self::Link(interface, what) => write!(f, "{interface}: {what}"),
            Self::Tables(what) => write!(f, "the tables in the kernel were changed: {what}"),
        }
    }
}
