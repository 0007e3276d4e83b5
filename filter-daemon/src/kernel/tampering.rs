//! Describes changes that others made to objects that only filterd may change.

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
    /// Pins were missing from this directory.
    PinsGone(PathBuf),
    /// The link of this interface was detached or had another program. The second string describes it.
    Link(String, String),
    /// The tables were changed. The string describes the difference.
    Tables(String),
}

impl Tampering {
    /// True if a careless clean-up script may be the cause. Then it is only reported.
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
