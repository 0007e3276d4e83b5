//! Where targets come from. A source reads what somebody else wrote and gives out sorted, distinct targets.
//!
//! `file` opens, `input` reads no more than it may, `growing` nothing that somebody is still writing, `ahead` before it is asked
//! for, `patience` waits no longer than it should, `list` and `line` parse what has any `format`, `special` takes out what no list
//! means, `limits` says whether the result is believed, `trouble` what is told of one that is not, and `copies` keeps what was.

mod ahead;
pub mod chosen;
pub mod copies;
pub mod database;
pub mod feeds;
pub mod file;
pub mod folder;
pub mod format;
pub mod growing;
pub mod input;
pub mod limits;
pub mod line;
pub mod list;
mod net64;
mod own_addresses;
pub mod parts;
pub mod patience;
pub mod permission;
mod quad;
mod rejected;
mod remarks;
pub mod special;
pub mod trouble;
pub mod well_known;
pub mod wide;

pub use crate::blocklist::{Accepted, Targets};
pub use chosen::{Chosen, Database};
pub use copies::{Copies, Draft};
pub use feeds::Feeds;
pub use format::{Column, ErrorPage, Format, How};
pub use limits::Limits;
pub use list::ListFile;
pub use rejected::{Reason, Rejected};
pub use remarks::Remarks;
pub use special::Special;
