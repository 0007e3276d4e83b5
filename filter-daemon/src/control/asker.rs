//! Identifies the sender of a request for the log: user, process and login user.

use std::fs;
use std::num::ParseIntError;

use nix::unistd::Uid;

use super::admission::ClientProcess;
use crate::accounts;
use crate::text::printable;

/// The sender at the other end of a connection.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Asker {
    /// The user's name, or its number if it has no name.
    pub user: String,
    pub uid: u32,
    /// The user who logged in, if different, as with sudo.
    pub login: Option<String>,
    /// The name that the process gives itself.
    pub process: Option<String>,
    pub pid: Option<i32>,
}

impl Asker {
    /// The user and the command, to be stored with an entry: `root (filterd add)`.
    pub fn signature(&self, verb: &str) -> String {
        let Self { user, login, process, .. } = self;
        let user = login.as_ref().map_or_else(|| user.clone(), |login| format!("{login} as {user}"));
        let process = process.as_ref().map(|process| format!("{process} ")).unwrap_or_default();
        printable::on_one_line(&format!("{user} ({process}{verb})"))
    }

    /// Finds as much as the system reveals.
    pub fn of(peer: &ClientProcess) -> Self {
        let about = |what: &str| {
            Some(fs::read_to_string(format!("/proc/{}/{what}", peer.process?)).ok()?.trim().to_owned())
        };
        let name = |uid| accounts::name_of(Uid::from_raw(uid));
        let login: Option<Result<u32, ParseIntError>> = about("loginuid").map(|login| login.parse());
        let login = login.and_then(Result::ok).filter(|login| *login != u32::MAX && *login != peer.user);
        Self {
            user: name(peer.user),
            uid: peer.user,
            login: login.map(name),
            process: about("comm"),
            pid: peer.process,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_very_process_is_known() {
        let process = i32::try_from(std::process::id()).ok();
        let asker = Asker::of(&ClientProcess { user: 0, group: 0, process });
        let name = fs::read_to_string("/proc/self/comm").unwrap();
        assert_eq!((asker.user.as_str(), asker.pid), ("root", process));
        assert_eq!(asker.process.as_deref(), Some(name.trim()));
    }

    #[test]
    fn author_is_named_with_the_command() {
        let asker =
            Asker { user: "root".into(), uid: 0, login: None, process: Some("filterd".into()), pid: None };
        assert_eq!(asker.signature("add"), "root (filterd add)");
        let behind_sudo = Asker { login: Some("alice".into()), ..asker.clone() };
        assert_eq!(behind_sudo.signature("add"), "alice as root (filterd add)");
        assert_eq!(Asker { process: None, ..asker.clone() }.signature("add"), "root (add)");
        let odd = Asker { process: Some("a\u{1b}[2Jb\n".into()), ..asker }.signature("add");
        assert!(!odd.chars().any(char::is_control), "{odd:?}");
    }

    #[test]
    fn ended_process_still_has_its_user() {
        let asker = Asker::of(&ClientProcess { user: 4_000_000_000, group: 0, process: None });
        assert_eq!((asker.user.as_str(), asker.uid, asker.process), ("4000000000", 4_000_000_000, None));
    }
}
