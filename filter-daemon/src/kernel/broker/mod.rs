//! The broker: whatever needs a capability is done by it, in a process of its own, and nothing in it reads what comes from
//! the world. `client` is how it is asked (in this process, over the `line`, or in memory), `request` what it can be asked, `server`
//! what it does.

pub mod client;
mod confine;
mod counters;
pub mod counts;
mod debug;
mod egress;
mod held;
mod judge;
pub mod kept;
pub mod leftovers;
pub mod line;
mod link;
mod making;
mod mending;
pub mod occupied;
mod pins;
pub mod process;
pub mod processors;
mod ration;
pub mod request;
pub mod root;
mod server;
pub mod size;
mod storage;
pub mod surroundings;
pub mod tables;

pub use client::Broker;
pub use egress::OBJECT as EGRESS;
pub use judge::OBJECT as JUDGE;
