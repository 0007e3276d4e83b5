//! Notices are faults that are over but that no event ends, such as lost entries or a time without a filter.
//! `status` shows them until someone acknowledges them.

use crate::blocklist::Timestamp;
use crate::clock;
use crate::control::wire::{About, Fault};
use crate::text::Explanation;

/// A notice about a fault that is over. Its id stays the same across restarts and changes of the clock.
pub fn notice(about: About, since: Timestamp, message: &str, remedy: &str) -> Fault {
    let id = id_of(since.secs(), message);
    let told = Explanation::new(message, format!("{remedy}\nto end this notice: filterd ack {id}"));
    Fault { about, since: clock::on_the_wall(since), told, id: Some(id) }
}

/// Four characters distinguish the few notices there are, and are easy to type.
pub fn id_of(since: u64, message: &str) -> String {
    let sum = crc32fast::hash(format!("{since} {message}").as_bytes());
    format!("{:04x}", sum >> 16)
}
