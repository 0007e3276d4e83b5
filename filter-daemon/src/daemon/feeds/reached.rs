//! Where lists were fetched from: that is guarded, whatever else they say since.

use std::net::IpAddr;

use crate::blocklist::Timestamp;

/// Servers, and when they were heard.
#[derive(Clone, Debug)]
pub struct Reached {
    pub from: Vec<IpAddr>,
    pub at: Timestamp,
}
