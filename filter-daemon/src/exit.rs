//! The exit codes, from which scripts learn the result of a command.

use std::process::ExitCode;

use crate::control::wire::Failure;

/// How a command ended. Scripts rely on the numbers, so they never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done, or the answer is yes.
    Done = 0,
    /// No: the address is not dropped, or it is still blocked after a remove.
    No = 1,
    /// The command line or a target was not understood.
    Usage = 2,
    /// The configuration is not valid.
    Config = 3,
    /// Nothing changed, although `--strict` asked for a change.
    Unchanged = 4,
    /// The daemon refused, for example because of the guard.
    Refused = 5,
    /// The daemon does not run, or this user may not send requests to it.
    Unreachable = 6,
    /// Only a part was done.
    Partly = 7,
    Kernel = 8,
}

impl From<&Failure> for Exit {
    fn from(failure: &Failure) -> Self {
        match failure {
            Failure::Unparsable(_) | Failure::InvalidRequest(_) => Self::Usage,
            Failure::InvalidConfig(_) => Self::Config,
            Failure::PermissionDenied(_) | Failure::Unavailable(_) => Self::Unreachable,
            Failure::Refused(_) | Failure::Guarded(_) => Self::Refused,
            Failure::Kernel(_) => Self::Kernel,
            Failure::NotDurable(_) | Failure::Partly(_) => Self::Partly,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_manual() {
        let codes = [
            (Exit::Done, 0),
            (Exit::No, 1),
            (Exit::Usage, 2),
            (Exit::Config, 3),
            (Exit::Unchanged, 4),
            (Exit::Refused, 5),
            (Exit::Unreachable, 6),
            (Exit::Partly, 7),
            (Exit::Kernel, 8),
        ];
        for (exit, number) in codes {
            assert_eq!(exit as u8, number, "{exit:?}");
        }
    }

    #[test]
    fn every_failure_of_the_daemon_has_its_code() {
        let because = || "because".into();
        assert_eq!(Exit::from(&Failure::Unparsable(because())), Exit::Usage);
        assert_eq!(Exit::from(&Failure::InvalidRequest(because())), Exit::Usage);
        assert_eq!(Exit::from(&Failure::InvalidConfig(because())), Exit::Config);
        assert_eq!(Exit::from(&Failure::PermissionDenied(because())), Exit::Unreachable);
        assert_eq!(Exit::from(&Failure::Refused(because())), Exit::Refused);
        assert_eq!(Exit::from(&Failure::Guarded(because())), Exit::Refused);
        assert_eq!(Exit::from(&Failure::Kernel(because())), Exit::Kernel);
        assert_eq!(Exit::from(&Failure::NotDurable(because())), Exit::Partly);
        assert_eq!(Exit::from(&Failure::Unavailable(because())), Exit::Unreachable);
    }
}
