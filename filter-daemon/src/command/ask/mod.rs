//! What goes to the daemon, and what becomes of it: targets from wherever they come, in messages, and why a command
//! did not do what it was asked.

pub mod addition;
pub mod batch;
pub mod change;
pub mod entries;
pub mod guarded;
pub mod input;
pub mod interrupt;
pub mod left_at_work;
pub mod messages;
pub mod progress;
pub mod reader;
pub mod removal;
pub mod target;
pub mod trouble;
pub mod ttl;
pub mod waiting;
pub mod which;
