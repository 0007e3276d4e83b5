//! What this host must not be cut off from, as it is right now: its own addresses, gateways, name servers, and whoever is
//! logged in from elsewhere. Never a mere connection to a port: every brute-forcer has one.

mod links;
mod resolvers;
mod sessions;
mod utmp;

use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// An address that must not be cut off, and why.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fact {
    /// The address.
    pub address: IpAddr,
    /// What it is to this host.
    pub what: What,
}

/// What an address is to this host.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum What {
    /// Its own, on this interface.
    Own(String),
    /// Packets leave by it.
    Gateway,
    /// It is asked for names.
    NameServer,
    /// Somebody is logged in from there: the user, if that is known.
    Session(String),
}

/// Where files are looked for that tell of name servers and sessions.
#[derive(Clone, Debug)]
pub struct Places {
    /// Name servers: all that are there count.
    resolvers: Vec<PathBuf>,
    /// What logind tells of its sessions, a file each.
    sessions: PathBuf,
    /// The older list of who is logged in.
    utmp: PathBuf,
}

impl Default for Places {
    fn default() -> Self {
        let resolvers = ["/etc/resolv.conf", "/run/systemd/resolve/resolv.conf"];
        Self {
            resolvers: resolvers.map(PathBuf::from).into(),
            sessions: "/run/systemd/sessions".into(),
            utmp: "/run/utmp".into(),
        }
    }
}

/// All facts, sorted. What cannot be found out is told, and the rest counts.
pub async fn look(places: &Places) -> (Vec<Fact>, Vec<String>) {
    let (mut facts, mut untold) = (Vec::new(), Vec::new());
    match links::facts().await {
        Ok(found) => facts.extend(found),
        Err(error) => untold.push(format!("addresses and gateways: {error}")),
    }
    let files = places.resolvers.iter();
    files.for_each(|path| facts.extend(resolvers::facts(&text(path))));
    facts.extend(sessions::facts(&places.sessions));
    facts.extend(utmp::facts(&std::fs::read(&places.utmp).unwrap_or_default()));
    facts.retain(|fact| !means_nobody(fact.address));
    facts.sort();
    facts.dedup();
    (facts, untold)
}

/// What is not there tells nothing.
fn text(path: &Path) -> String {
    std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

/// Nobody else sends from these.
fn means_nobody(address: IpAddr) -> bool {
    address.is_loopback() || address.is_unspecified() || address.is_multicast()
}

/// IPv4 in the form that sockets for both families use is IPv4.
fn plain(address: IpAddr) -> IpAddr {
    address.to_canonical()
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own(interface) => write!(f, "this host's own address on {interface}"),
            Self::Gateway => f.write_str("a gateway of this host"),
            Self::NameServer => f.write_str("a name server of this host"),
            Self::Session(user) if user.is_empty() => f.write_str("somebody is logged in from there"),
            Self::Session(user) => write!(f, "{user} is logged in from there"),
        }
    }
}
