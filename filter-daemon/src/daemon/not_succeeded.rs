//! Errors of a takeover from another filterd.

use std::path::PathBuf;

use thiserror::Error;

use crate::control::client::{ClientError, MAY_BE_STOPPED};
use crate::control::wire::Failure;
use crate::exit::Exit;
use crate::text::{Explain, Explanation, printable};

/// Why the running filterd keeps its place.
#[derive(Debug, Error)]
pub enum SuccessionError {
    /// It could not be asked.
    #[error("cannot ask the running filterd to make way: {}", .0.explain().message)]
    NotAsked(ClientError),
    /// It would lose state.
    #[error("the running filterd does not make way: {}", .0.message)]
    Refused(Explanation),
    /// It uses another path than the new one.
    #[error(
        "the running filterd has its {what} in {}, not in {}",
        printable::path(theirs),
        printable::path(ours)
    )]
    Elsewhere {
        /// The kind of path: pins or state.
        what: &'static str,
        /// The path of the running one.
        theirs: PathBuf,
        /// The path of the new one.
        ours: PathBuf,
        /// The option that sets it.
        flag: &'static str,
    },
    /// It sees another file system at the same path.
    #[error(
        "the running filterd has its {what} in {path}, but {path} is another place here: the two have different mount namespaces (as under `ip netns exec`)",
        path = printable::path(path)
    )]
    OtherMounts {
        /// The kind of path: pins or state.
        what: &'static str,
        path: PathBuf,
        pid: u32,
    },
    /// It filters another network namespace, where the same names mean other interfaces.
    #[error("the running filterd filters another network namespace")]
    OtherNamespace {
        /// The process of the running one.
        pid: u32,
    },
    #[error("the running filterd is user {theirs}, but this one would be user {ours}")]
    OtherUser {
        /// The user of the running one.
        theirs: u32,
        /// The user of the new one.
        ours: u32,
    },
    /// The memory does not suffice for two.
    #[error("two filterds at once need {needed} MiB, but only {available} MiB are free")]
    NoMemory {
        /// The MiB that the running one uses.
        needed: u64,
        /// The MiB that are free.
        available: u64,
    },
    /// A list cannot be read, and there is no copy.
    #[error("cannot take over without list \"{name}\": {}", told.message)]
    NoList {
        name: String,
        /// The reason, with a remedy.
        told: Explanation,
    },
    /// An interface is missing, and another one would be released at the same time.
    #[error(
        "there is no interface {missing}, and this configuration does not list {unnamed}, which is filtered: one may be a typo of the other"
    )]
    NoInterface {
        /// The name of the missing interface.
        missing: String,
        /// The interface that would be released.
        unnamed: String,
    },
    /// An interface is missing, and the running filterd does not wait for it.
    #[error("there is no interface {missing}, and the running filterd does not wait for one")]
    NotThere {
        /// The name of the missing interface.
        missing: String,
    },
    /// Another new filterd has asked first, or the running one was stopped.
    #[error("another filterd took this place first, or the one that had it just ended; nothing was changed")]
    Overtaken,
    /// A signal has ended the rehearsal.
    #[error("cannot take over: the process that rehearses the start was ended ({0})")]
    Interrupted(String),
    /// The running filterd has ended, and the new one failed.
    #[error("the old filterd has ended, and this one failed: {}", why.message)]
    Fallen {
        why: Explanation,
        /// The command that starts the old one again.
        command: String,
    },
}

impl Explain for SuccessionError {
    fn remedy(&self) -> Option<String> {
        let remedy = match self {
            // It was asked only for its identity, not to make way.
            Self::NotAsked(ClientError::Silent(_)) => {
                format!("nothing has changed; {MAY_BE_STOPPED}; --timeout waits longer")
            }
            Self::NotAsked(error) => return error.remedy(),
            Self::Refused(why) => return why.remedy.clone(),
            Self::Elsewhere { theirs, flag, .. } => {
                format!("nothing has changed; pass {flag} {}", printable::path(theirs))
            }
            Self::OtherMounts { pid, .. } => format!(
                "nothing has changed; start the new one in the same mount namespace, with its other options: nsenter -t {pid} -m -- filterd run --take-over"
            ),
            Self::OtherNamespace { pid } => format!(
                "nothing has changed; to filter this namespace too, give the new one another --socket, --state-dir and --pin-dir\nto take over, start it in the same network namespace, with its other options: nsenter -t {pid} -n -- filterd run --take-over"
            ),
            Self::NoList { told, .. } => {
                let mend = told.remedy.as_deref().map_or_else(String::new, |remedy| format!("; {remedy}"));
                format!("nothing has changed: the running filterd continues{mend}")
            }
            Self::NoInterface { missing, .. } => format!(
                "nothing has changed: the running filterd continues; correct the name, or leave {missing} out until it exists"
            ),
            Self::NotThere { missing } => format!(
                "nothing has changed: the running filterd continues; correct the name, or let the running one wait for {missing} first: `filterd reload`, with `--accept {missing}` if it may be missing"
            ),
            Self::OtherUser { .. } => {
                "nothing has changed; start this one with the same --user, or stop the other one first".to_owned()
            }
            Self::NoMemory { .. } => {
                "nothing has changed; free memory, raise the limit of filterd's cgroup (MemoryMax), or stop the other one first, which leaves a gap"
                    .to_owned()
            }
            Self::Overtaken => {
                "to see which one runs: filterd status\nto replace it, start this one again with --take-over"
                    .to_owned()
            }
            Self::Interrupted(_) => {
                "nothing has changed: the running filterd continues; start this one again".to_owned()
            }
            Self::Fallen { why, command } => {
                let mend = why.remedy.as_deref().map_or_else(String::new, |remedy| format!("\n{remedy}"));
                format!(
                    "the filter stays attached and drops as before, but nothing expires and nothing can be added\nto start the old one again: {command}{mend}"
                )
            }
        };
        Some(remedy)
    }
}

impl From<ClientError> for SuccessionError {
    fn from(error: ClientError) -> Self {
        if let ClientError::Failed(Failure::Refused(why)) = error {
            return Self::Refused(why);
        }
        let has_ended =
            matches!(error, ClientError::Closed(_) | ClientError::Failed(Failure::Unavailable(_)));
        if has_ended { Self::Overtaken } else { Self::NotAsked(error) }
    }
}

impl From<&SuccessionError> for Exit {
    fn from(error: &SuccessionError) -> Self {
        match error {
            SuccessionError::Elsewhere { .. }
            | SuccessionError::OtherMounts { .. }
            | SuccessionError::OtherNamespace { .. }
            | SuccessionError::OtherUser { .. }
            | SuccessionError::NoInterface { .. }
            | SuccessionError::NotThere { .. }
            | SuccessionError::NoList { .. } => Self::Config,
            SuccessionError::NoMemory { .. } | SuccessionError::Fallen { .. } => Self::Kernel,
            SuccessionError::NotAsked(_)
            | SuccessionError::Refused(_)
            | SuccessionError::Overtaken
            | SuccessionError::Interrupted(_) => Self::Unreachable,
        }
    }
}
