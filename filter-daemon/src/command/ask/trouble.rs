//! The reasons why a command failed, reported once at its end.

use std::io::{self, ErrorKind};

use thiserror::Error;

use super::super::render::console::Console;
use super::super::render::figure::{count, counted};
use super::change::ChangeOutcome;
use super::left_at_work;
use crate::control::client::ClientError;
use crate::control::wire::Failure;
use crate::exit::Exit;
use crate::text::{Explain, Explanation};

/// An error that ends a command early.
#[derive(Debug, Error)]
pub enum CommandError {
    /// The daemon refused, or cannot be reached.
    #[error(transparent)]
    Daemon(#[from] ClientError),
    /// The command line or the configuration is not valid.
    #[error("{}", .0.explanation().message)]
    Refused(Failure),
    /// The command ended with part of its work done.
    #[error(
        "{cause}\nbefore that: {} done, {} of which changed something",
        counted(done.changed.named, "target"), count(done.changed.changed)
    )]
    Partly {
        /// The changes made before the error.
        done: Box<ChangeOutcome>,
        /// The error that ended the command.
        cause: Box<CommandError>,
    },
    /// Standard input cannot be read.
    #[error("cannot read standard input: {0}")]
    Input(io::Error),
    /// Standard output cannot be written.
    #[error("cannot write the answer: {0}")]
    Output(#[from] io::Error),
}

impl Explain for CommandError {
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

impl CommandError {
    /// The error for a word of the command line that is not valid.
    pub fn unparsable(explanation: impl Into<Explanation>) -> Self {
        Self::Refused(Failure::Unparsable(explanation.into()))
    }

    /// Prints the error, as JSON on standard output if requested, and returns the exit code.
    pub fn tell(self, console: &mut Console) -> Exit {
        if self.reader_left() {
            return Exit::Done;
        }
        // If standard output fails, programs have only the exit code.
        let _ = console.fail(&self.failure()).and_then(|()| console.flush());
        self.exit()
    }

    /// Returns whether the reader has closed the pipe, as `filterd list | head` does.
    fn reader_left(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == ErrorKind::BrokenPipe)
    }

    fn exit(&self) -> Exit {
        match self {
            // Earlier changes would be reported with it, as `Partly`.
            Self::Input(_) => Exit::Usage,
            Self::Partly { .. } | Self::Output(_) => Exit::Partly,
            Self::Daemon(_) | Self::Refused(_) => Exit::from(&self.failure()),
        }
    }

    /// Converts the error to its form on the wire.
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
