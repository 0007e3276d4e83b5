//! The plumbing behind the stories: two network namespaces, a wire between them, a filterd of one's own.
//!
//! A story begins with a [`Net`], asks its filterd for something, and says what it expects of a
//! [`Frame`]. Nothing here sleeps to wait for the network: after the frames of a story a fence travels the
//! same queue, and when it arrives, whatever has not arrived was dropped.

mod attached;
mod browser;
mod buffers;
mod daemon;
mod expect;
mod foreign;
mod frame;
pub mod home;
#[cfg(target_arch = "x86_64")]
pub mod injection;
mod ip;
pub mod lapi;
mod leftovers;
pub mod life;
pub mod limited;
pub mod mmdb;
mod namespace;
mod net;
pub mod numbered;
mod other_time;
mod own_names;
mod own_run;
pub mod page;
pub mod program;
mod prometheus;
mod random;
mod refusal;
mod reply;
mod run_page;
mod saved;
mod site;
mod small_disk;
mod talk;
mod taps;
mod trace;
pub mod traffic;
mod transcript;
mod tun;
mod until;
mod watching;
mod web;
mod whole;
mod wire;

pub use browser::{Browser, Look, Tab};
pub use buffers::Buffers;
pub use daemon::{Daemon, children_of, is_running};
pub use expect::Expectation;
pub use foreign::{ForeignEgress, ForeignIngress, ForeignProgram};
pub use frame::Frame;
pub use home::{Home, binary, give_to_daemon};
pub use leftovers::{remove as remove_leftovers, unique_name};
pub use namespace::Namespace;
pub use net::{Net, StruckDown, in_mode};
pub use other_time::OtherTime;
pub use own_names::OwnNames;
pub use own_run::OwnRun;
pub use prometheus::Prometheus;
pub use random::Random;
pub use refusal::{Refusal, fetcher_of, fetches_of, keeper_of, without};
pub use reply::Reply;
pub use saved::SavedGeneration;
pub use site::Site;
pub use small_disk::SmallDisk;
pub use talk::{Talk, is_error};
pub use trace::Trace;
pub use traffic::{Fate, Traffic};
pub use tun::Tun;
pub use until::{SOON, end_of, until};
pub use watching::{Watcher, Watching};
pub use web::{Asked, Authority, Web, Where};
pub use whole::few_or;
pub use wire::Wire;

/// The host that filterd guards. What is its own, and its gateway, is never blocked: so that stories may block what they like,
/// both are in the ranges for benchmarks.
pub const HOST: &str = "198.19.255.1";
/// The same host's IPv6 address.
pub const HOST6: &str = "2001:2::1";
/// Where the host sends what is for neither of its own networks: the peer.
pub const GATEWAY: &str = "198.19.255.254";
/// The same for IPv6.
pub const GATEWAY6: &str = "2001:2::fe";
/// Whom the stories block; the peer really has this address.
pub const ATTACKER: &str = "203.0.113.7";
/// The attacker's IPv6 address.
pub const ATTACKER6: &str = "2001:db8:bad::7";
/// Whom nobody ever blocks; the peer really has this address, too.
pub const BYSTANDER: &str = "198.51.100.7";
/// The bystander's IPv6 address.
pub const BYSTANDER6: &str = "2001:db8:900d::7";
