//! Errors that end the daemon or refuse a reload.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use super::commit::CommitError;
use super::not_succeeded::SuccessionError;
use crate::accounts;
use crate::blocklist::Refusal;
use crate::command::render::figure::counted_as;
use crate::config::ConfigError;
use crate::control::SocketError;
use crate::exit::Exit;
use crate::journal::JournalError;
use crate::kernel::KernelError;
use crate::lock::PlaceInUse;
use crate::source::file::FileError;
use crate::state_directory::StateError;
use crate::text::{Explain, Explanation};

#[derive(Debug, Error)]
pub enum DaemonError {
    #[error("{0}")]
    Config(#[from] ConfigError),
    /// The daemon's user may not read a list, and there is no copy of it.
    #[error("{0}, and there is no good copy of this list")]
    Unreadable(FileError),
    #[error("filterd may not read {lists} lists, and has no good copy of them; the first is {first}")]
    UnreadableLists {
        lists: usize,
        /// The first of them.
        first: FileError,
    },
    #[error("no interface to filter: neither the configuration nor --iface names one")]
    NoInterface,
    /// After the reload, no interface would be named.
    #[error("no interface to filter: neither the configuration nor --iface names one")]
    LeavesNoInterface {
        /// The interfaces that are filtered now.
        filtered: Vec<String>,
    },
    #[error(transparent)]
    Socket(#[from] SocketError),
    /// Another filterd holds the place.
    #[error(transparent)]
    Succession(#[from] SuccessionError),
    /// The rehearsal of a start has failed with this exit code, and has logged why.
    #[error("the rehearsal of the start failed")]
    Rehearsed(u8),
    /// Another filterd uses the state directory.
    #[error(transparent)]
    Taken(#[from] PlaceInUse),
    /// The state directory cannot be used.
    #[error(transparent)]
    State(#[from] StateError),
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// The journal of live entries cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The configuration gives a file the name of a live list.
    #[error(
        "list \"{name}\" has {} added live, so the configuration cannot define a list with this name",
        counted_as(*entries, ["entry that was", "entries that were"])
    )]
    ListIsLive {
        name: String,
        /// How many live entries the list has.
        entries: u64,
        /// The interfaces of a filterd that cannot start because of this. None if one runs.
        instead: Vec<String>,
    },
    /// A name to accept is neither a list nor an interface of the configuration.
    #[error("nothing to accept: there is no list and no interface {name}")]
    NothingToAccept {
        name: String,
        /// The names that the configuration has.
        there: String,
        /// The name is an interface that is still filtered.
        is_filtered: bool,
    },
    /// A reload is on trial, and another one must wait for its end.
    #[error("{}", .0.message)]
    OnTrial(Explanation),
    #[error("nothing is on trial: there is no configuration that a reload could change")]
    NothingToTry,
    /// A trial cannot begin, because the present state could not be restored.
    #[error("nothing was changed, because a rollback would not be possible: {}", .0.message)]
    NoWayBack(Explanation),
    /// A newer filterd wrote the state directory.
    #[error("a newer filterd wrote {}", crate::text::printable::path(path))]
    NewerState { path: PathBuf },
    /// The filter that was left running belongs to another network namespace, where interface names differ.
    #[error("an earlier filterd left its filter attached in another network namespace")]
    OtherNamespace,
    /// The name to accept is a list and an interface.
    #[error("{name} is both a list and an interface that is not filtered")]
    AcceptsEither {
        /// The name that both have.
        name: String,
    },
    /// The limit of open files is too low.
    #[error("filterd may open only {few} files, but needs {least}")]
    FewFiles {
        /// How many may be open.
        few: u64,
        least: u64,
    },
    /// There is no user `filterd`, and another user or group has the number that the daemon would take.
    #[error("there is no user filterd, and its number {} belongs to {holder}", accounts::UNLISTED)]
    NumberTaken {
        /// The user or group.
        holder: String,
    },
    /// The daemon cannot switch to the configured user.
    #[error("cannot become user {name}: {source}")]
    User {
        name: String,
        /// The error of the system.
        source: io::Error,
    },
    #[error("more than 65,535 lists")]
    TooManyLists,
    /// No slot is free for another clause of `ports` or `except_ports`.
    #[error("no room for another `ports` or `except_ports` setting while lists still use the old ones")]
    TooManyClauses,
    #[error(transparent)]
    NotDone(#[from] CommitError),
    /// An unexpected system error.
    #[error(transparent)]
    System(#[from] io::Error),
}

impl DaemonError {
    /// The error of a filterd that does not start, so that no command can help while it runs.
    pub fn at_start(mut self, interfaces: Vec<String>) -> Self {
        if let Self::ListIsLive { instead, .. } = &mut self {
            *instead = interfaces;
        }
        self
    }

    /// The error on one line.
    pub fn brief(&self) -> Explanation {
        if let Self::Config(error) = self { error.brief() } else { self.explain() }
    }
}

impl Explain for DaemonError {
    fn remedy(&self) -> Option<String> {
        match self {
            Self::Config(error) => error.remedy(),
            Self::Unreadable(error) => error.remedy(),
            Self::UnreadableLists { first, .. } => Some(format!(
                "{}\nto see all of them: filterd check --as {} FILE",
                first.remedy()?,
                accounts::name_of(nix::unistd::geteuid())
            )),
            Self::Socket(error) => error.remedy(),
            Self::OnTrial(told) | Self::NoWayBack(told) => told.remedy.clone(),
            Self::Taken(taken) => taken.remedy(),
            Self::Succession(error) => error.remedy(),
            Self::State(error) => error.remedy(),
            Self::Kernel(error) => error.remedy(),
            Self::NotDone(error) => error.remedy(),
            Self::Journal(error) => error.remedy(),
            Self::NoInterface => Some(
                "write `interfaces: [eth0]` into the configuration, or start filterd with `--iface eth0`"
                    .to_owned(),
            ),
            Self::LeavesNoInterface { filtered } => {
                let (names, each) = (filtered.join(", "), filtered.join(" --iface "));
                let stays = if filtered.len() == 1 { "stays" } else { "stay" };
                Some(format!(
                    "{names} {stays} filtered\nto keep filtering: write `interfaces: [{names}]` into the configuration, or start filterd with `--iface {each}`\nto filter no interface: stop filterd"
                ))
            }
            Self::ListIsLive { name, instead, .. } if instead.is_empty() => {
                Some(format!("choose another name, or remove them: filterd flush --list {name}"))
            }
            Self::ListIsLive { name, instead, .. } => Some(format!(
                "choose another name, or start without the configuration: filterd run --no-config --iface {}\nthen remove them in a second terminal: filterd flush --list {name}\nthen stop the first one with Ctrl-C, and start filterd as before",
                instead.join(" --iface ")
            )),
            Self::NothingToAccept { name, there, is_filtered: true } => Some(format!(
                "{name} is filtered until every configured interface is filtered, or missing and accepted\nthe configuration has {there}"
            )),
            Self::NothingToAccept { there, .. } => Some(format!("the configuration has {there}")),
            Self::AcceptsEither { name } => {
                Some(format!("pass `--accept list:{name}` or `--accept interface:{name}`"))
            }
            Self::OtherNamespace => Some(
                "it still filters there; start filterd in that namespace (`ip netns exec`, `nsenter -n`), or give this one another --socket, --state-dir and --pin-dir\nto stop filtering there: filterd detach"
                    .to_owned(),
            ),
            Self::NewerState { .. } => Some(
                "start that version again, or give this one its own directory with --state-dir".to_owned(),
            ),
            Self::NothingToTry => Some("start filterd with `--config FILE`".to_owned()),
            Self::FewFiles { .. } => Some(
                "raise the limit: `ulimit -n 4096` in the shell that starts it, LimitNOFILE=65536 in its unit, `--ulimit nofile=65536` for its container"
                    .to_owned(),
            ),
            Self::NumberTaken { .. } => Some(format!("create that user: {}", accounts::MAKE_USER)),
            Self::User { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => Some(
                "this needs CAP_SETUID, CAP_SETGID and CAP_CHOWN (in a container: `--cap-add SETUID,SETGID,CHOWN`); to stay root, pass `--user root`"
                    .to_owned(),
            ),
            Self::User { .. }
            | Self::Rehearsed(_)
            | Self::TooManyLists
            | Self::TooManyClauses
            | Self::System(_) => None,
        }
    }
}

impl From<Refusal> for DaemonError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::TooManyLists => Self::TooManyLists,
            Refusal::TooManyClauses => Self::TooManyClauses,
            Refusal::NoSuchList(_) | Refusal::OtherPolarity { .. } | Refusal::BelongsElsewhere { .. } => {
                Self::NotDone(refusal.into())
            }
        }
    }
}

impl From<&DaemonError> for Exit {
    fn from(error: &DaemonError) -> Self {
        match error {
            DaemonError::Succession(error) => error.into(),
            // Another process holds the place.
            DaemonError::Kernel(KernelError::Taken(_) | KernelError::Occupied { holder: Some(_), .. })
            | DaemonError::Taken(_) => Self::Unreachable,
            DaemonError::Config(_)
            | DaemonError::Unreadable(_)
            | DaemonError::UnreadableLists { .. }
            | DaemonError::NoInterface
            | DaemonError::LeavesNoInterface { .. }
            | DaemonError::OtherNamespace
            | DaemonError::NumberTaken { .. }
            | DaemonError::State(_)
            | DaemonError::ListIsLive { .. }
            | DaemonError::TooManyLists
            | DaemonError::TooManyClauses => Self::Config,
            DaemonError::NothingToAccept { .. }
            | DaemonError::AcceptsEither { .. }
            | DaemonError::User { .. } => Self::Usage,
            DaemonError::OnTrial(_) | DaemonError::NoWayBack(_) | DaemonError::NothingToTry => Self::Refused,
            DaemonError::NewerState { .. } => Self::Config,
            DaemonError::Socket(_)
            | DaemonError::Journal(_)
            | DaemonError::Rehearsed(_)
            | DaemonError::System(_) => Self::Unreachable,
            DaemonError::Kernel(_)
            | DaemonError::FewFiles { .. }
            | DaemonError::NotDone(CommitError::Kernel(_)) => Self::Kernel,
            DaemonError::NotDone(CommitError::Refused(_)) => Self::Config,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_live_entry_was_added() {
        let told = |entries| {
            DaemonError::ListIsLive { name: "drop".into(), entries, instead: Vec::new() }.to_string()
        };
        assert!(told(1).starts_with("list \"drop\" has 1 entry that was added live, so"), "{}", told(1));
        assert!(told(2).starts_with("list \"drop\" has 2 entries that were added live, so"), "{}", told(2));
    }

    #[test]
    fn start_is_not_told_to_ask_a_running_filterd() {
        let refused = || DaemonError::ListIsLive { name: "drop".into(), entries: 2, instead: Vec::new() };
        let running = refused().remedy().unwrap();
        assert_eq!(running, "choose another name, or remove them: filterd flush --list drop");
        let starting = refused().at_start(vec!["eth0".into(), "eth1".into()]).remedy().unwrap();
        let first = "filterd run --no-config --iface eth0 --iface eth1\n";
        assert!(starting.contains(first) && starting.contains("filterd flush --list drop\n"), "{starting}");
    }
}
