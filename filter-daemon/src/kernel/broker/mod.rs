//! The broker does everything that needs a capability, in a process of its own. No code in it reads untrusted
//! input. `client` sends it requests (over the `line`, in this process, or in memory), `request` lists them,
//! and `server` carries them out.

pub mod client;
mod confine;
mod connect;
mod counters;
pub mod counts;
mod debug;
mod egress;
mod held;
mod judge;
pub mod kept;
mod ladder;
pub mod leftovers;
pub mod line;
mod link;
mod loaders;
mod making;
mod mending;
mod object;
pub mod occupied;
mod pins;
pub mod process;
pub mod processors;
mod ration;
pub mod request;
pub mod root;
mod roots;
mod sent;
mod sent_work;
mod server;
pub mod size;
mod storage;
pub mod surroundings;
pub mod tables;
pub mod tc;

pub use client::Broker;
pub use object::{EGRESS, JUDGE, JUDGE_TC};
pub use pins::REHEARSAL;
