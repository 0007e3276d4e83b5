//! Whole commands, from what was typed to the exit code.

mod answers;
mod scripted;
mod silence;
mod standard_input;
mod wording;
