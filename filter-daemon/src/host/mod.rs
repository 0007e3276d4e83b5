//! Finds the addresses that must not be blocked at this moment. These are the addresses of this host, its
//! gateways, its name servers, and the remote hosts of open login sessions. A mere connection to a port
//! never counts, because every brute-force attacker has one.
//!
//! All of it belongs to the network namespace and mounts of this process, and any user can read it.

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

pub use connection::SshConnection;
pub use links::{changes, facts as links};
pub use stamp::FileStamp;

/// An address that must stay connected, and why.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProtectedAddress {
    pub address: IpAddr,
    /// The role of the address.
    pub what: HostRole,
}

/// The role of an address for this host.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HostRole {
    /// An address of this host, on this interface.
    Own(String),
    /// A gateway of this host.
    Gateway,
    /// A name server of this host.
    NameServer,
    /// A remote host with a login session of this user, if the user is known.
    Session(String),
    /// The host from which the caller of filterd is logged in.
    Asker,
    /// The server from which this list was last fetched.
    Feed(String),
    /// The server of this CrowdSec.
    CrowdSec(String),
}

/// The facts found, and reports of what could not be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostFindings {
    pub facts: Vec<ProtectedAddress>,
    /// Reports of what could not be read.
    pub untold: Vec<MissingFact>,
}

/// A report of something that could not be found out.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MissingFact {
    /// The missing fact, and the reason.
    pub message: String,
    /// How to fix it.
    pub remedy: String,
}

/// The files that list name servers and sessions.
#[derive(Clone, Debug)]
pub struct HostFiles {
    /// Files with name servers; every existing one is read.
    pub resolvers: Vec<PathBuf>,
    /// The directory where logind has one file for each session.
    pub sessions: PathBuf,
    /// The older list of logins.
    pub utmp: PathBuf,
}

impl Default for HostFiles {
    fn default() -> Self {
        // The local resolvers of systemd and NetworkManager forward to the servers in these files.
        let behind = ["/run/systemd/resolve/resolv.conf", "/run/NetworkManager/no-stub-resolv.conf"];
        let resolvers = std::iter::once("/etc/resolv.conf").chain(behind);
        Self {
            resolvers: resolvers.map(PathBuf::from).collect(),
            sessions: "/run/systemd/sessions".into(),
            utmp: "/run/utmp".into(),
        }
    }
}

impl HostFiles {
    /// Reads the files. A missing file counts as empty, and an unreadable one is reported.
    pub fn look(&self) -> HostFindings {
        let mut found = HostFindings::default();
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

    /// A stamp that changes when any of the files changes.
    pub fn stamp(&self) -> FileStamp {
        FileStamp::of(self.resolvers.iter().chain([&self.sessions, &self.utmp]))
    }
}

impl HostFindings {
    /// The result of a read; none if the file is missing or unreadable.
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
                self.untold.push(MissingFact { message, remedy });
                None
            }
        }
    }
}

/// True for addresses that no packet comes from.
fn means_nobody(address: IpAddr) -> bool {
    address.is_unspecified() || address.is_multicast()
}

/// Converts IPv4 addresses from the IPv6 form that dual-stack sockets use.
fn plain(address: IpAddr) -> IpAddr {
    address.to_canonical()
}

impl fmt::Display for HostRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own(interface) => write!(f, "this host's own address on {interface}"),
            Self::Gateway => f.write_str("a gateway of this host"),
            Self::NameServer => f.write_str("a name server of this host"),
            Self::Session(user) if user.is_empty() => f.write_str("a user is logged in from it"),
            Self::Session(user) => write!(f, "{user} is logged in from it"),
            Self::Asker => f.write_str("a user of filterd is logged in from it by SSH"),
            Self::Feed(list) => write!(f, "list \"{list}\" is fetched from it"),
            Self::CrowdSec(name) => write!(f, "CrowdSec \"{name}\" answers there"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn places(directory: &Path) -> HostFiles {
        let path = |name: &str| directory.join(name);
        HostFiles {
            resolvers: vec![path("resolv.conf"), path("behind")],
            sessions: path("sessions"),
            utmp: path("utmp"),
        }
    }

    #[test]
    fn unreadable_files_are_reported_missing_ones_not() {
        let directory = tempfile::tempdir().unwrap();
        let places = places(directory.path());
        assert_eq!(places.look(), HostFindings::default());
        fs::write(directory.path().join("resolv.conf"), "nameserver 192.0.2.53\n").unwrap();
        // Even root cannot read a directory as a file.
        fs::create_dir(directory.path().join("behind")).unwrap();
        fs::set_permissions(directory.path().join("behind"), Permissions::from_mode(0o700)).unwrap();
        let found = places.look();
        assert_eq!(
            found.facts,
            [ProtectedAddress { address: "192.0.2.53".parse().unwrap(), what: HostRole::NameServer }]
        );
        assert_eq!(found.untold.len(), 1, "{found:?}");
        assert!(found.untold[0].message.contains("behind"), "{found:?}");
    }

    #[test]
    fn unspecified_and_multicast_are_not_protected() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("resolv.conf"), "nameserver 0.0.0.0\nnameserver ff02::1\n").unwrap();
        assert_eq!(places(directory.path()).look().facts, []);
    }
}
