//! Tests whole commands, from the command line to the exit code.

mod answers;
mod scripted;
mod silence;
mod standard_input;
mod wording;
