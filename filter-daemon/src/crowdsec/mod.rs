//! What CrowdSec decided, and what must be enforced for it.
//!
//! CrowdSec's local API (LAPI) sends decisions as JSON. [`answer`] reads them. The [`DecisionBook`] holds
//! them by ID and says which entries of lists must change. This module reads no sockets, files or clocks.

pub mod answer;
mod book;
mod decision;
pub mod duration;
pub mod list_name;
mod loose_value;

pub use answer::{AnswerError, Skipped, StreamAnswer};
pub use book::{DecisionBook, EntryChange, FullReport};
pub use decision::{Decision, Scope};
