//! Finds out who connected to the socket, and decides whether that user may send requests.

use std::fmt;
use std::fs;
use std::io;

use tokio::net::UnixStream;

use super::wire::Failure;
use crate::text::Explanation;

/// The process that opened a connection, according to the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientProcess {
    pub user: u32,
    pub group: u32,
    /// Its process id, if it has one in this namespace.
    pub process: Option<i32>,
}

/// Decides who may send requests: root, the daemon's own user, and members of the socket's group.
#[derive(Clone, Copy, Debug)]
pub struct Admission {
    pub user: u32,
    /// The group that owns the socket.
    pub group: u32,
    /// The user who started the daemon, and could start another one.
    pub starter: u32,
}

/// A short form for the log.
impl fmt::Display for ClientProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "uid {}", self.user)?;
        self.process.map_or(Ok(()), |process| write!(f, ", pid {process}"))
    }
}

impl ClientProcess {
    pub fn of(stream: &UnixStream) -> io::Result<Self> {
        let credentials = stream.peer_cred()?;
        Ok(Self { user: credentials.uid(), group: credentials.gid(), process: credentials.pid() })
    }
}

impl Admission {
    /// Returns an error if this peer may not send requests.
    pub fn admits(&self, peer: &ClientProcess) -> Result<(), Failure> {
        let known = peer.user == 0 || peer.user == self.user || peer.group == self.group;
        if known || further_groups(peer).contains(&self.group) {
            return Ok(());
        }
        let message = format!(
            "user {} is neither root nor in the group of the control socket (gid {})",
            peer.user, self.group
        );
        Err(Failure::PermissionDenied(Explanation::new(message, "use sudo")))
    }

    /// Whether this peer may replace this filterd by another one. Members of the group may only block and
    /// unblock.
    pub fn may_replace(&self, peer: &ClientProcess) -> bool {
        peer.user == 0 || peer.user == self.starter
    }
}

/// The supplementary groups of the peer's process, or none if it has ended.
///
/// They are read from the process and not from the user database, since a service may have a group that its
/// user is not in. If the process id was reused, the new process belongs to another user, or shows groups of
/// the same user. Neither opens anything that the socket's mode keeps shut.
fn further_groups(peer: &ClientProcess) -> Vec<u32> {
    let Some(process) = peer.process else { return Vec::new() };
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    groups_of(&status, peer.user)
}

/// The groups in a `/proc/PID/status`, if the process runs as `user`.
fn groups_of(status: &str, user: u32) -> Vec<u32> {
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_default().split_whitespace().filter_map(|number| number.parse().ok())
    };
    let effective_user = field("Uid:").nth(1);
    if effective_user == Some(user) { field("Groups:").collect() } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAEMON: Admission = Admission { user: 900, group: 990, starter: 0 };

    fn admits(user: u32, group: u32) -> bool {
        DAEMON.admits(&ClientProcess { user, group, process: None }).is_ok()
    }

    #[test]
    fn only_root_daemon_and_group_may_ask() {
        assert!(admits(0, 0));
        assert!(admits(900, 900));
        assert!(admits(1000, 990));
        assert!(!admits(1000, 1000));
        assert!(!admits(65534, 0));
    }

    #[test]
    fn only_root_or_starter_may_take_over() {
        let may = |user, starter| {
            Admission { starter, ..DAEMON }.may_replace(&ClientProcess { user, group: 990, process: None })
        };
        assert!(may(0, 0) && may(0, 500) && may(500, 500));
        assert!(!may(900, 0), "not even as the user that it has become");
        assert!(!may(1000, 0));
    }

    #[test]
    fn supplementary_groups_count_while_user_is_unchanged() {
        let status =
            "Name:\tbash\nUid:\t1000\t1000\t1000\t1000\nGid:\t1000\t1000\t1000\t1000\nGroups:\t24 990 \n";
        assert_eq!(groups_of(status, 1000), [24, 990]);
        assert_eq!(groups_of(status, 1001), [0; 0]);
        assert_eq!(groups_of("", 1000), [0; 0]);
    }

    #[test]
    fn own_groups_match_the_kernel() {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let user = nix::unistd::geteuid().as_raw();
        let groups: Vec<_> = nix::unistd::getgroups().unwrap().iter().map(|group| group.as_raw()).collect();
        assert_eq!(groups_of(&status, user), groups);
    }
}
