//! Everything that touches the kernel: programs, maps, links. The only importer of aya.
//!
//! `root` is the program that stays attached and its one slot; `judge` loads the program that slot points to,
//! specialised by a `shape`; `table` carries effects out and is all that the daemon talks to. Below it, `live` changes
//! a cuckoo table under running readers, through a `window` and with `grace` periods; `link` attaches to interfaces.

mod counters;
mod debug;
mod error;
pub mod grace;
mod interface;
mod judge;
mod link;
mod live;
mod needs;
mod overlay;
mod pins;
mod root;
mod seen;
mod shape;
mod storage;
mod store;
mod table;
mod version;
mod window;

pub use error::KernelError;
pub use link::{Attached, AttachedMode};
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
