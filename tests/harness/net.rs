//! Two namespaces and the links between them: a host with its filterd, and a peer who attacks it.

mod asked;
mod filterd;
mod layout;
mod succession;

pub use filterd::in_mode;
pub use succession::StruckDown;

use std::path::PathBuf;
use std::time::Duration;

use crate::{Daemon, Home, Namespace, OtherTime, OwnRun, Wire, leftovers};

/// Nothing takes so long: a link that comes up, a filterd that takes over.
const PATIENCE: Duration = Duration::from_secs(30);

/// A host and a peer. Everything in it is unique on the machine and gone when it is dropped.
#[derive(Debug)]
pub struct Net {
    // The fields are dropped in this order: the daemon goes before what it stands on.
    daemon: Option<Daemon>,
    time: Option<OtherTime>,
    run: Option<OwnRun>,
    through: Vec<String>,
    credentials: Option<PathBuf>,
    home: Home,
    wire: Wire,
    host: Namespace,
    peer: Namespace,
}

/// Making one.
impl Net {
    /// One link, `eth0` on both ends, and no filterd yet.
    pub fn new() -> Self {
        Self::with_links(1)
    }

    /// Links `eth0`, `eth1`, …, and no filterd yet. Only `eth0` has addresses.
    pub fn with_links(links: usize) -> Self {
        let home = Home::new();
        let name = leftovers::unique_name();
        let host = Namespace::new(format!("{name}-host"));
        let peer = Namespace::new(format!("{name}-peer"));
        host.ip_all(&layout::of_host(links, &peer));
        peer.ip_all(&layout::of_peer(links));
        let wire = Wire::new(&host, &peer, links);
        Self {
            daemon: None,
            time: None,
            run: None,
            through: Vec::new(),
            credentials: None,
            home,
            wire,
            host,
            peer,
        }
    }

    /// One link, and a filterd with this configuration on `eth0`.
    #[track_caller]
    pub fn with_filterd(config: &str) -> Self {
        let mut net = Self::new();
        net.start(config);
        net
    }

    /// Takes hold of links that were made anew.
    pub fn with_a_new_wire(mut self) -> Self {
        self.wire = Wire::new(&self.host, &self.peer, 1);
        self
    }

    /// Frames of so many bytes fit through `eth0`.
    pub fn mtu(self, bytes: usize) -> Self {
        self.host.ip(&format!("link set eth0 mtu {bytes}"));
        self.peer.ip(&format!("link set eth0 mtu {bytes}"));
        self
    }
}

impl Default for Net {
    fn default() -> Self {
        Self::new()
    }
}
