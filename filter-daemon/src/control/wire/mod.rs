//! The protocol of the control socket: one JSON object per line, in the shape of Varlink's messages.
//!
//! A request is `{"method":"io.filterd.Add","parameters":{…}}`. A reply is `{"parameters":{…}}`, with
//! `"continues":true` if more follow, or `{"error":"io.filterd.Refused","parameters":{"message":…,"remedy":…}}`.
//! Targets are text, and the receiver parses them.
//!
//! Each method is one file: its parameters, the checked parameters, its reply and its name. [`methods!`] lists all of
//! them.

pub mod accept;
pub mod ack;
pub mod add;
pub mod allow;
mod changed;
pub mod confirm;
pub mod crowdsec;
mod deed;
pub mod diff;
pub mod entry;
mod failure;
mod fault;
pub mod flush;
mod guarded;
pub mod hand_over;
mod held;
mod hits;
mod idle;
pub mod import;
pub mod list;
pub mod lists;
mod message;
mod method;
pub mod own;
mod parts;
pub mod pause;
pub mod ping;
pub mod refresh;
pub mod reload;
pub mod remove;
pub mod resume;
pub mod rollback;
pub mod snapshot;
pub mod stats;
pub mod status;
pub mod strings;
pub mod take_over;
pub mod test;
pub mod watch;
pub mod words;

#[cfg(test)]
mod document;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use ack::Ack;
pub use add::Add;
pub use allow::{Allow, Disallow};
pub use changed::{Changed, Emptied, Needed, Widened};
pub use confirm::Confirm;
pub use deed::{Counts, Deed};
pub use diff::Diff;
pub use entry::Entry;
pub use failure::Failure;
pub use fault::{About, Fault};
pub use flush::Flush;
pub use guarded::{Guarded, MOST_GUARDED};
pub use hand_over::HandOver;
pub use held::{Held, HeldBy, MOST_WITHIN};
pub use hits::Hits;
pub use idle::Idle;
pub use import::Import;
pub use list::List;
pub use lists::Lists;
pub use message::{Envelope, RequestLine};
pub use method::{Answers, Method, PendingRequest};
pub use pause::Pause;
pub use ping::Ping;
pub use refresh::Refresh;
pub use reload::Reload;
pub use remove::Remove;
pub use resume::Resume;
pub use rollback::Rollback;
pub use snapshot::Snapshot;
pub use stats::Stats;
pub use status::Status;
pub use take_over::TakeOver;
pub use test::Test;
pub use watch::Watch;

message::methods! { Add, Remove, Allow, Disallow, Import, Test, List, Lists, Flush, Status, Ack, Stats, Snapshot, Refresh, Reload, Confirm, Rollback, Diff, Pause, Resume, Watch, Ping, HandOver, TakeOver }

/// Is raised when a field changes its meaning. New fields may appear without that.
pub const VERSION: u32 = 1;

/// The longest line that either side accepts. It limits what one client can make the daemon hold.
pub const LONGEST_LINE: usize = 1 << 20;

/// The most targets of one message: a full one stays far below [`LONGEST_LINE`].
pub const MOST_TARGETS: usize = 8192;

/// For more targets than this, a reply only counts, and names no details.
pub const MOST_LOOKED_AT: usize = 100;

/// The most addresses of one `Test`, so that the answers fit the daemon's memory.
pub const MOST_ADDRESSES: usize = 1024;

/// One line of an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer<T> {
    /// The reply, or a part of it.
    pub parameters: T,
    /// Whether more parts follow, each on its own line.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub continues: bool,
}
