//! Everything that touches the kernel: BPF programs, maps and links. Only this module imports aya.
//!
//! `filter` applies effects, and is the part that the daemon calls. It plans, publishes and releases the
//! `set`s: those that block, and the one that allows. A set has a table per `family` (`kind`, `store`), the
//! bits of `networks`, and the `levels` of IPv6. A table can be made larger in the background (`growth`). A
//! word records whether blocked and allowed targets may `overlap`. No packet sees anything that is only
//! `staged`.
//!
//! Below that, `moving` changes a cuckoo table while packets read it, through a `window` and with `grace`
//! periods. A `spec` describes the judge to load. `probe` only reads, for `doctor`. The `broker`, a separate
//! process, does everything that needs a capability.

mod attached;
pub mod broker;
mod error;
mod family;
mod filter;
pub mod grace;
mod growth;
pub mod hook;
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

pub use attached::{AttachMode, AttachReason, Attachment, Link};
pub use broker::counts::{InterfaceDrops, PacketCounts};
pub use broker::leftovers;
pub use broker::request::{CallErrors, Repairs};
pub use error::{KernelError, UNNAMED};
pub use filter::Filter;
pub use growth::GrowingFamilies;
pub use interface::KernelInterface;
pub use lists::Count as ListCount;
pub use needs::{LabelSource, Needs, SetNeeds, SixTargets, Truth, WantedTargets};
pub use tampering::Tampering;
pub use ways::Ways;

/// How full a table is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Occupancy {
    pub entries: u64,
    /// Entries that fit before a larger table is built.
    pub capacity: u64,
    /// Kernel memory in bytes.
    pub bytes: u64,
    /// How many times the table was made larger.
    pub growths: u64,
    /// How many entries have moved within the table.
    pub relocations: u64,
}

#[cfg(test)]
pub(crate) mod tests;
