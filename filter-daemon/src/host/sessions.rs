//! Remote login sessions from logind: one file for each session, with lines `KEY=value`.

use std::fs;
use std::path::Path;

use super::{HostFindings, HostRole, MissingFact, ProtectedAddress, plain};

/// The most sessions that are read, because each is a file.
const MOST: usize = 4096;

/// The remote host of a session.
#[derive(Debug, PartialEq, Eq)]
enum Remote {
    /// An address with its user.
    Address(ProtectedAddress),
    /// A host name with its user. A name is never resolved, because the answer could be forged.
    Name { host: String, user: String },
}

/// Adds the remote hosts of all sessions in this directory. A session with a host name needs no report if
/// an address of its user is already known.
pub fn look(directory: &Path, found: &mut HostFindings) {
    let Some(files) = found.take(directory, fs::read_dir(directory)) else { return };
    let mut named = Vec::new();
    for file in files.flatten().take(MOST) {
        // The file may be gone by now, and the session's FIFO may be next to it.
        if !file.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        let Some(session) = found.take(&file.path(), fs::read(file.path())) else { continue };
        match remote(&String::from_utf8_lossy(&session)) {
            None => {}
            Some(Remote::Address(fact)) => found.facts.push(fact),
            Some(Remote::Name { host, user }) => named.push((host, user)),
        }
    }
    let is_known = |user: &str| {
        let is_there =
            |fact: &&ProtectedAddress| matches!(&fact.what, HostRole::Session(other) if other == user);
        found.facts.iter().find(is_there).is_some()
    };
    let untold: Vec<_> = named.into_iter().filter(|(_, user)| !is_known(user)).collect();
    found.untold.extend(untold.into_iter().map(|(host, user)| MissingFact {
        message: format!(
            "{user} is logged in from {host}, a name instead of an address: it is not guarded"
        ),
        remedy: "set `UseDNS no` for sshd, which then reports addresses\nto allow it now: filterd allow add ADDRESS".to_owned(),
    }));
}

/// The remote host of an open remote session.
fn remote(session: &str) -> Option<Remote> {
    let value = |key: &str| session.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    if value("REMOTE") != Some("1") || value("STATE") == Some("closing") {
        return None;
    }
    let host = value("REMOTE_HOST").filter(|host| !host.is_empty())?;
    let user = value("USER").unwrap_or_default().to_owned();
    match host.split('%').next()?.parse() {
        Ok(address) => {
            Some(Remote::Address(ProtectedAddress { address: plain(address), what: HostRole::Session(user) }))
        }
        Err(_) => Some(Remote::Name { host: host.to_owned(), user }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_tells_where_it_comes_from() {
        let address = |session: &str| match remote(session) {
            Some(Remote::Address(fact)) => format!("{}: {}", fact.address, fact.what),
            other => format!("{other:?}"),
        };
        let ours = "# This is private data.\nUID=0\nUSER=root\nACTIVE=1\nSTATE=active\nREMOTE=1\nREMOTE_HOST=192.0.2.7\n";
        assert_eq!(address(ours), "192.0.2.7: root is logged in from it");
        assert_eq!(
            address("REMOTE=1\nREMOTE_HOST=::ffff:192.0.2.7\n"),
            "192.0.2.7: a user is logged in from it"
        );
        let name = Remote::Name { host: "desk.example.org".into(), user: String::new() };
        assert_eq!(remote("REMOTE=1\nREMOTE_HOST=desk.example.org\n"), Some(name));
        let nobody = ["", "REMOTE=0\nREMOTE_HOST=192.0.2.7\n", "REMOTE=1\nREMOTE_HOST=\n", "REMOTE=1\n"];
        for session in nobody.map(str::to_owned).into_iter().chain([ours.replace("=active", "=closing")]) {
            assert_eq!(remote(&session), None, "{session}");
        }
    }

    #[test]
    fn session_by_name_is_reported_unless_known() {
        let directory = tempfile::tempdir().unwrap();
        let named = "USER=alice\nREMOTE=1\nREMOTE_HOST=desk.example.org\n";
        fs::write(directory.path().join("5"), named).unwrap();
        nix::unistd::mkfifo(&directory.path().join("5.ref"), nix::sys::stat::Mode::S_IRUSR).unwrap();
        let mut found = HostFindings::default();
        look(directory.path(), &mut found);
        assert!(found.untold[0].message.starts_with("alice is logged in from desk.example.org"), "{found:?}");
        let fact = ProtectedAddress {
            address: "192.0.2.7".parse().unwrap(),
            what: HostRole::Session("alice".into()),
        };
        let mut known = HostFindings { facts: vec![fact.clone()], untold: vec![] };
        look(directory.path(), &mut known);
        assert_eq!(known, HostFindings { facts: vec![fact], untold: vec![] });
    }
}
