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
    #[error("cannot ask the running filterd to make way: {}", .0.explain().message)]
    NotAsked(ClientError),
    /// It would lose something.
    #[error("the running filterd does not make way: {}", .0.message)]
    Refused(Explanation),
    /// It has another place than the new one was given.
    #[error(
        "the running filterd has its {what} in {}, not in {}",
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
        "the running filterd has its {what} in {path}, but {path} is another place here: the two have different mount namespaces (as under `ip netns exec`)",
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
    #[error("the running filterd filters another network namespace")]
    OtherNamespace {
        /// Its process.
        pid: u32,
    },
    /// It runs as another user.
    #[error("the running filterd is user {theirs}, but this one would be user {ours}")]
    OtherUser {
        /// The old one's.
        theirs: u32,
        /// The new one's.
        ours: u32,
    },
    /// There is no room for two.
    #[error("two filterds at once need {needed} MiB, but only {available} MiB are free")]
    NoMemory {
        /// What the old one takes.
        needed: u64,
        /// What there is.
        available: u64,
    },
    /// A list cannot be had.
    #[error("cannot take over without list \"{name}\": {}", told.message)]
    NoList {
        /// Its name.
        name: String,
        /// Why not.
        told: Explanation,
    },
    /// An interface is not there, and another one would be let go for it.
    #[error(
        "there is no interface {missing}, and this configuration does not list {unnamed}, which is filtered: one may be a typo of the other"
    )]
    NoInterface {
        /// What is not there.
        missing: String,
        /// What would be let go.
        unnamed: String,
    },
    /// An interface is not there, and the one that runs does not wait for it.
    #[error("there is no interface {missing}, and the running filterd does not wait for one")]
    NotThere {
        /// What is not there.
        missing: String,
    },
    /// It took its place back.
    #[error("the running filterd did not make way, or took its place back: {0}")]
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
            Self::Broken(_) => "it continues if it still runs (`filterd status`); its log shows why".to_owned(),
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
