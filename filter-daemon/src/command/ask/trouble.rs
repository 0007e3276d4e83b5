//! Why a command did not do what it was asked, told once at its end.

use std::io::{self, ErrorKind};

use thiserror::Error;

use super::super::render::console::Console;
use super::super::render::figure::{count, counted};
use super::change::Outcome;
use super::left_at_work;
use crate::control::client::ClientError;
use crate::control::wire::Failure;
use crate::exit::Exit;
use crate::text::{Explain, Explanation};

/// What ends a command early.
#[derive(Debug, Error)]
pub enum Trouble {
    /// The daemon, or the lack of one.
    #[error(transparent)]
    Daemon(#[from] ClientError),
    /// What was typed, or the configuration.
    #[error("{}", .0.explanation().message)]
    Refused(Failure),
    /// It ended in the middle: some of it is done.
    #[error(
        "{cause}\nbefore that: {} done, {} of which changed something",
        counted(done.changed.named, "target"), count(done.changed.changed)
    )]
    Partly {
        /// What was done.
        done: Box<Outcome>,
        /// What ended it.
        cause: Box<Trouble>,
    },
    /// Standard input failed.
    #[error("cannot read standard input: {0}")]
    Input(io::Error),
    /// Standard output failed.
    #[error("cannot write the answer: {0}")]
    Output(#[from] io::Error),
}

impl Explain for Trouble {
    fn remedy(&self) -> Option<String> {
        match self {
            Self::Daemon(error @ ClientError::NotRunning(socket)) => {
                left_at_work::told(socket).or_else(|| error.remedy())
            }
            Self::Daemon(error) => error.remedy(),
            Self::Refused(failure) => failure.explanation().remedy.clone(),
            Self::Partly { cause, .. } => cause.remedy(),
            Self::Input(_) | Self::Output(_) => None,
        }
    }
}

impl Trouble {
    /// A word of the command line is not what it should be.
    pub fn unparsable(explanation: impl Into<Explanation>) -> Self {
        Self::Refused(Failure::Unparsable(explanation.into()))
    }

    /// Tells it, to programs on standard output too, and what to exit with.
    pub fn tell(self, console: &mut Console) -> Exit {
        if self.reader_left() {
            return Exit::Done;
        }
        // If standard output fails, the exit code is all that programs have left.
        let _ = console.fail(&self.failure()).and_then(|()| console.flush());
        self.exit()
    }

    /// `filterd list | head` has got what it wants.
    fn reader_left(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == ErrorKind::BrokenPipe)
    }

    fn exit(&self) -> Exit {
        match self {
            // What was done before that would be told beside it.
            Self::Input(_) => Exit::Usage,
            Self::Partly { .. } | Self::Output(_) => Exit::Partly,
            Self::Daemon(_) | Self::Refused(_) => Exit::from(&self.failure()),
        }
    }

    /// The same in the words of the wire.
    fn failure(&self) -> Failure {
        match self {
            Self::Daemon(ClientError::Failed(failure)) | Self::Refused(failure) => failure.clone(),
            Self::Daemon(ClientError::NotPermitted(_)) => Failure::PermissionDenied(self.explain()),
            Self::Daemon(_) => Failure::Unavailable(self.explain()),
            Self::Input(_) => Failure::Unparsable(self.explain()),
            Self::Partly { .. } | Self::Output(_) => Failure::Partly(self.explain()),
        }
    }
}
