//! Sends requests to the daemon: targets from any source, in messages, and the reasons why a command
//! failed.

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
