//! Where targets come from. A source reads what somebody else wrote and gives out sorted, distinct targets.

pub mod file;
pub mod line;
pub mod list;
mod net64;
mod permission;
mod quad;
mod rejected;

pub use crate::blocklist::Targets;
pub use list::{ListError, ListFile};
pub use rejected::{Reason, Rejected};
