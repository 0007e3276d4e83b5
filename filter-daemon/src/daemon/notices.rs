//! Notices are troubles that are over, and that nothing ends: entries that were lost, or a time without a filter. `status` shows
//! them until somebody acknowledges them.

use crate::blocklist::Timestamp;
use crate::clock;
use crate::control::wire::{About, Fault};
use crate::text::Explanation;

/// What is told of a trouble that is over. Its id is the same after a restart, and whatever the clock says.
pub fn notice(about: About, since: Timestamp, message: &str, remedy: &str) -> Fault {
    let id = id_of(since.secs(), message);
    let told = Explanation::new(message, format!("{remedy}\nto end this notice: filterd ack {id}"));
    Fault { about, since: clock::on_the_wall(since), told, id: Some(id) }
}

/// Four characters tell a handful of troubles apart, and can be typed.
pub fn id_of(since: u64, message: &str) -> String {
    let sum = crc32fast::hash(format!("{since} {message}").as_bytes());
    format!("{:04x}", sum >> 16)
}
