//! Reads targets from files, folders and databases that others wrote. Every source returns sorted, distinct
//! targets.
//!
//! `file` opens files. `input` limits the bytes, `growing` leaves out lines that are still being written,
//! `ahead` reads in advance, and `patience` limits the wait. `list` and `line` parse the lines in any
//! `format`. `special` removes ranges that no list intends. `limits` decides whether the result is accepted,
//! and `trouble` explains why it is not. `reading` says how each source was read last.

mod ahead;
pub mod chosen;
pub mod database;
pub mod digest;
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
pub mod peaks;
pub mod permission;
mod quad;
pub mod reading;
mod rejected;
mod remarks;
pub mod special;
pub mod trouble;
pub mod well_known;
pub mod wide;

pub use crate::blocklist::Targets;
pub use chosen::{Chosen, Database};
pub use feeds::FeedStore;
pub use format::{Column, ErrorPage, Format, ReadOptions};
pub use limits::Limits;
pub use list::ListFile;
pub use reading::AcceptedSource;
pub use rejected::{RejectReason, RejectedLine};
pub use remarks::Remarks;
pub use special::SpecialRanges;
