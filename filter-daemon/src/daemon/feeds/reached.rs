//! Records where the hosts of lists were reached, because those addresses are guarded.

use std::net::IpAddr;

use crate::blocklist::Timestamp;

/// The addresses of servers, and when they last answered.
#[derive(Clone, Debug)]
pub struct ReachedServers {
    pub from: Vec<IpAddr>,
    pub at: Timestamp,
}
