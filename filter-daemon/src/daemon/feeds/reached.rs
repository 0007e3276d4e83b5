//! Where the hosts that lists name were reached: that is guarded.

use std::net::IpAddr;

use crate::blocklist::Timestamp;

/// Servers, and when they were heard.
#[derive(Clone, Debug)]
pub struct Reached {
    pub from: Vec<IpAddr>,
    pub at: Timestamp,
}
