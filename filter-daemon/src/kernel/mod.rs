//! Everything that touches the kernel: programs, maps, links. The only importer of aya.
//!
//! `table` carries effects out and is all that the daemon talks to. Below it, `live` changes a cuckoo table under running
//! readers, through a `window` and with `grace` periods; a `shape` says what the judge must be. What needs a capability is
//! done by the `holder`, which is asked through a `keeper`, because it may be in another process.

mod attached;
mod error;
pub mod grace;
mod growth;
mod holder;
pub mod interface;
pub mod keeper;
mod live;
mod needs;
mod overlay;
mod seen;
mod shape;
mod store;
mod table;
mod version;
pub mod window;

pub use attached::{Attached, AttachedMode};
pub use error::KernelError;
pub use holder::leftovers;
pub use interface::Interface;
pub use needs::{Needs, Wanted};
pub use table::Table;

/// How full a table is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Occupancy {
    /// Entries in it.
    pub entries: u64,
    /// How many fit before it is built larger.
    pub capacity: u64,
    /// Kernel memory it takes, in bytes.
    pub bytes: u64,
}
