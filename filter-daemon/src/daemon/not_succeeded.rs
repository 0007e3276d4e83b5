//! Errors of a takeover from another filterd.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::control::client::{ClientError, MAY_BE_STOPPED};
use crate::exit::Exit;
use crate::text::{Explain, Explanation, printable};

/// Why the running filterd keeps its place.
#[derive(Debug, Error)]
pub enum SuccessionError {
    /// It could not be asked.
    #[error("cannot ask the filterd that runs to make way: {}", .0.explain().message)]
    NotAsked(ClientError),
    /// It would lose state.
    #[error("the filterd that runs does not make way: {}", .0.message)]
    Refused(Explanation),
    /// It uses another path than the new one.
    #[error(
        "the filterd that runs has its {what} in {}, not in {}",
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
        "the filterd that runs has its {what} in {path}, and {path} is another place here: the two see other file \
         systems there, each in a mount namespace of its own (so it is under `ip netns exec`)",
        path = printable::path(path)
    )]
    OtherMounts {
        /// The kind of path: pins or state.
        what: &'static str,
        path: PathBuf,
        pid: u32,
    },
    /// It filters another network namespace, where the same names mean other interfaces.
    #[error("the filterd that runs filters another network namespace than this one would")]
    OtherNamespace {
        /// The process of the running one.
        pid: u32,
    },
    #[error("the filterd that runs is user {theirs}, and this one would be user {ours}")]
    OtherUser {
        /// The user of the running one.
        theirs: u32,
        /// The user of the new one.
        ours: u32,
    },
    /// The memory does not suffice for two.
    #[error("{needed} MiB are needed for two filterds at once, and {available} MiB are free")]
    NoMemory {
        /// The MiB that the running one uses.
        needed: u64,
        /// The MiB that are free.
        available: u64,
    },
    /// A list cannot be read, and there is no copy.
    #[error("there is nothing of list {name} to take the place of another filterd with: {}", told.message)]
    NoList {
        name: String,
        /// The reason, with a remedy.
        told: Explanation,
    },
    /// An interface is missing, and another one would be released at the same time.
    #[error(
        "there is no interface {missing}, and {unnamed}, which is filtered, is not in this configuration: one may be meant \
         for the other"
    )]
    NoInterface {
        /// The name of the missing interface.
        missing: String,
        /// The interface that would be released.
        unnamed: String,
    },
    /// An interface is missing, and the running filterd does not wait for it.
    #[error("there is no interface {missing}, and the filterd that runs does not wait for one")]
    NotThere {
        /// The name of the missing interface.
        missing: String,
    },
    /// The running filterd failed to make way, or took its place again.
    #[error("the filterd that runs did not make way, or has taken its place back: {0}")]
    Broken(io::Error),
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
                format!("nothing has changed; say {flag} {}", printable::path(theirs))
            }
            Self::OtherMounts { pid, .. } => format!(
                "nothing has changed; start the new one where that one is: `nsenter -t {pid} -m -- filterd run --take-over`, \
                 with what else it is told"
            ),
            Self::OtherNamespace { pid } => format!(
                "nothing has changed; start the new one where that one is: `nsenter -t {pid} -n -- filterd run --take-over`, \
                 with what else it is told; to filter this one beside it, give it another --socket, --state-dir and --pin-dir"
            ),
            Self::NoList { told, .. } => {
                let mend = told.remedy.as_deref().map_or_else(String::new, |remedy| format!("; {remedy}"));
                format!("nothing has changed: the one that runs goes on with what it has{mend}")
            }
            Self::NoInterface { missing, .. } => format!(
                "nothing has changed: the one that runs goes on; correct the name, or leave {missing} out until it is there"
            ),
            Self::NotThere { missing } => format!(
                "nothing has changed: the one that runs goes on; correct the name, or have that one wait for {missing} first: \
                 `filterd reload`, with `--accept {missing}` if it need not be there"
            ),
            Self::OtherUser { .. } => {
                "nothing has changed; start this one with the same --user, or stop the other one first".to_owned()
            }
            Self::NoMemory { .. } => {
                "nothing has changed; free memory, raise the limit of filterd's cgroup (MemoryMax), or stop the \
                 other one first, which leaves a gap"
                    .to_owned()
            }
            Self::Broken(_) => "it goes on, if it lives: `filterd status`; its log tells why".to_owned(),
        };
        Some(remedy)
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
            SuccessionError::NoMemory { .. } => Self::Kernel,
            SuccessionError::NotAsked(_) | SuccessionError::Refused(_) | SuccessionError::Broken(_) => {
                Self::Unreachable
            }
        }
    }
}
