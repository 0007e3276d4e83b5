//! What this host must not be cut off from, as it is right now: its own addresses, gateways, name servers, and whoever is
//! logged in from elsewhere. Never a mere connection to a port: every brute-forcer has one.
//!
//! All of it is of the network namespace and of the mounts that this process sees, and readable by any user.

mod connection;
mod links;
mod resolvers;
mod sessions;
mod stamp;
mod utmp;

use std::fmt;
use std::io::{self, ErrorKind};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

pub use connection::Connection;
pub use links::{changes, facts as links};
pub use stamp::Stamp;

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
    /// Whoever asks filterd for something is logged in from there.
    Asker,
    /// This list was last fetched from there.
    Feed(String),
}

/// What was found, and what could not be found out: each to be told with what to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// The facts.
    pub facts: Vec<Fact>,
    /// Why there may be more.
    pub untold: Vec<Untold>,
}

/// Something that could not be found out.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Untold {
    /// What, and why.
    pub message: String,
    /// What to do.
    pub remedy: String,
}

/// Where files are looked for that tell of name servers and sessions.
#[derive(Clone, Debug)]
pub struct Places {
    /// Name servers: all that are there count.
    pub resolvers: Vec<PathBuf>,
    /// What logind tells of its sessions, a file each.
    pub sessions: PathBuf,
    /// The older list of who is logged in.
    pub utmp: PathBuf,
}

impl Default for Places {
    fn default() -> Self {
        // Behind the resolvers of systemd and NetworkManager are others.
        let behind = ["/run/systemd/resolve/resolv.conf", "/run/NetworkManager/no-stub-resolv.conf"];
        let resolvers = std::iter::once("/etc/resolv.conf").chain(behind);
        Self {
            resolvers: resolvers.map(PathBuf::from).collect(),
            sessions: "/run/systemd/sessions".into(),
            utmp: "/run/utmp".into(),
        }
    }
}

impl Places {
    /// What files tell. One that is not there tells nothing; one that cannot be read is told.
    pub fn look(&self) -> Found {
        let mut found = Found::default();
        for path in &self.resolvers {
            let text = found.take(path, std::fs::read(path)).unwrap_or_default();
            found.facts.extend(resolvers::facts(&String::from_utf8_lossy(&text)));
        }
        let utmp = found.take(&self.utmp, utmp::read(&self.utmp)).unwrap_or_default();
        found.facts.extend(utmp::facts(&utmp));
        sessions::look(&self.sessions, &mut found);
        found.facts.retain(|fact| !means_nobody(fact.address));
        found
    }

    /// What tells whether any of them has changed.
    pub fn stamp(&self) -> Stamp {
        Stamp::of(self.resolvers.iter().chain([&self.sessions, &self.utmp]))
    }
}

impl Found {
    /// What was read; what is not there is none.
    fn take<T>(&mut self, path: &Path, read: io::Result<T>) -> Option<T> {
        match read {
            Ok(read) => Some(read),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => None,
            Err(error) => {
                let message = format!("cannot read {}: {error}", path.display());
                let remedy = format!(
                    "let filterd's user read it (`ls -l {}`); until then allow its addresses: filterd allow add ADDRESS",
                    path.display()
                );
                self.untold.push(Untold { message, remedy });
                None
            }
        }
    }
}

/// Nobody sends from these.
fn means_nobody(address: IpAddr) -> bool {
    address.is_unspecified() || address.is_multicast()
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
            Self::Session(user) if user.is_empty() => f.write_str("a user is logged in from it"),
            Self::Session(user) => write!(f, "{user} is logged in from it"),
            Self::Asker => f.write_str("a user of filterd is logged in from it by SSH"),
            Self::Feed(list) => write!(f, "list \"{list}\" is fetched from it"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn places(directory: &Path) -> Places {
        let path = |name: &str| directory.join(name);
        Places {
            resolvers: vec![path("resolv.conf"), path("behind")],
            sessions: path("sessions"),
            utmp: path("utmp"),
        }
    }

    #[test]
    fn what_is_not_there_tells_nothing_and_what_cannot_be_read_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let places = places(directory.path());
        assert_eq!(places.look(), Found::default());
        fs::write(directory.path().join("resolv.conf"), "nameserver 192.0.2.53\n").unwrap();
        // Even root cannot read a directory as a file.
        fs::create_dir(directory.path().join("behind")).unwrap();
        fs::set_permissions(directory.path().join("behind"), Permissions::from_mode(0o700)).unwrap();
        let found = places.look();
        assert_eq!(found.facts, [Fact { address: "192.0.2.53".parse().unwrap(), what: What::NameServer }]);
        assert_eq!(found.untold.len(), 1, "{found:?}");
        assert!(found.untold[0].message.contains("behind"), "{found:?}");
    }

    #[test]
    fn nobody_is_guarded_who_is_nobody() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("resolv.conf"), "nameserver 0.0.0.0\nnameserver ff02::1\n").unwrap();
        assert_eq!(places(directory.path()).look().facts, []);
    }
}
