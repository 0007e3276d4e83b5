//! Everything that touches the kernel: programs, maps, links. The only importer of aya.
//!
//! `filter` applies effects and is all that the daemon talks to. It plans, publishes and releases `set`s: of each `family` a
//! table (`kind`, `store`) that may be made larger aside (`growth`), the bits of `networks`, and the `levels` of IPv6; one set
//! blocks, one allows, and a word tells whether they may `overlap`. Whatever is `staged` is seen by no packet yet. Below, `moving` changes a cuckoo table under running readers, through a `window` and with `grace`
//! periods; a `spec` says what the judge must be. `probe` only looks, for `doctor`. What needs a capability is done by the `broker`, a process of its own.

mod attached;
pub mod broker;
mod error;
mod family;
mod filter;
pub mod grace;
mod growth;
pub mod interface;
mod kind;
mod levels;
mod lists;
mod maps;
mod moving;
mod needs;
mod networks;
mod overlap;
mod overlay;
mod pages;
pub mod probe;
pub mod received;
pub mod samples;
mod seen;
mod set;
mod spec;
mod staged;
mod store;
mod tampering;
pub mod version;
mod ways;
pub mod window;

pub use attached::{Attached, AttachedMode, Link};
pub use broker::counts::{Counts, OnInterface};
pub use broker::leftovers;
pub use broker::request::Mended;
pub use error::KernelError;
pub use filter::Filter;
pub use growth::Growing;
pub use interface::Interface;
pub use lists::Count as ListCount;
pub use needs::{Labels, Needs, SetNeeds, SixTargets, Truth, Wanted};
pub use tampering::Tampering;
pub use ways::Ways;

/// How full a table is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Occupancy {
    /// Entries in it.
    pub entries: u64,
    /// How many fit before it is built larger.
    pub capacity: u64,
    /// Kernel memory it takes, in bytes.
    pub bytes: u64,
    /// How often it was made larger.
    pub growths: u64,
    /// How many entries have moved within it.
    pub relocations: u64,
}

#[cfg(test)]
pub(crate) mod tests;
