//! Why one filterd did not take the place of another.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::control::client::{ClientError, MAY_BE_STOPPED};
use crate::exit::Exit;
use crate::text::{Explain, Explanation, printable};

/// Why the old one goes on.
#[derive(Debug, Error)]
pub enum SuccessionError {
    /// It cannot be asked.
    #[error("cannot ask the filterd that runs to make way: {}", .0.explain().message)]
    NotAsked(ClientError),
    /// It would lose something.
    #[error("the filterd that runs does not make way: {}", .0.message)]
    Refused(Explanation),
    /// It has another place than the new one was given.
    #[error(
        "the filterd that runs has its {what} in {}, not in {}",
        printable::path(theirs),
        printable::path(ours)
    )]
    Elsewhere {
        /// Which place.
        what: &'static str,
        /// Where the old one has it.
        theirs: PathBuf,
        /// Where the new one looked.
        ours: PathBuf,
        /// How it is said.
        flag: &'static str,
    },
    /// It sees another file system at the same path.
    #[error(
        "the filterd that runs has its {what} in {path}, and {path} is another place here: the two see other file \
         systems there, each in a mount namespace of its own (so it is under `ip netns exec`)",
        path = printable::path(path)
    )]
    OtherMounts {
        /// Which place.
        what: &'static str,
        /// Where both have it.
        path: PathBuf,
        /// Its process.
        pid: u32,
    },
    /// It filters other interfaces, whatever they are called here.
    #[error("the filterd that runs filters another network namespace than this one would")]
    OtherNamespace {
        /// Its process.
        pid: u32,
    },
    /// It runs as another user.
    #[error("the filterd that runs is user {theirs}, and this one would be user {ours}")]
    OtherUser {
        /// The old one's.
        theirs: u32,
        /// The new one's.
        ours: u32,
    },
    /// There is no room for two.
    #[error("{needed} MiB are needed for two filterds at once, and {available} MiB are free")]
    NoMemory {
        /// What the old one takes.
        needed: u64,
        /// What there is.
        available: u64,
    },
    /// A list cannot be had.
    #[error("there is nothing of list {name} to take the place of another filterd with: {}", told.message)]
    NoList {
        /// Its name.
        name: String,
        /// Why not.
        told: Explanation,
    },
    /// An interface is not there, and another one would be let go for it.
    #[error(
        "there is no interface {missing}, and {unnamed}, which is filtered, is not in this configuration: one may be meant \
         for the other"
    )]
    NoInterface {
        /// What is not there.
        missing: String,
        /// What would be let go.
        unnamed: String,
    },
    /// An interface is not there, and the one that runs does not wait for it.
    #[error("there is no interface {missing}, and the filterd that runs does not wait for one")]
    NotThere {
        /// What is not there.
        missing: String,
    },
    /// It took its place back.
    #[error("the filterd that runs did not make way, or has taken its place back: {0}")]
    Broken(io::Error),
}

impl Explain for SuccessionError {
    fn remedy(&self) -> Option<String> {
        let remedy = match self {
            // It was asked who it is, and not to go.
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
