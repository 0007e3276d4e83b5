//! What filterd keeps on disk of its configuration and lists, so that a start has them if their files are
//! missing or damaged.
//!
//! A [`Generation`] is a configuration and the accepted version of each of its lists. Its manifest is a text
//! file that names blobs by their SHA-256: the text of the configuration, the bytes of lists, and the times of
//! entries. There are three manifests:
//!
//! - `current`: the last good generation.
//! - `trial`: the generation on trial, with the time at which it is rolled back.
//! - `rejected`: a generation that was rolled back. A start does not take the configuration's file again.
//!
//! Confirming renames `trial` to `current`; rolling back renames it to `rejected`. Blobs are removed only after
//! no manifest names them. A crash between any two steps leaves a valid `current`.

mod at_start;
mod beside;
mod blobs;

mod disk;
mod draft;
mod files;
mod generation;
mod held;
mod landed;
pub mod manifest;
mod path_text;
mod save;
mod store;
pub mod times;

#[cfg(test)]
mod tests;

pub use at_start::{FoundFile, PresentBoot, Recorded, StartChoice, at_start};
pub use beside::beside;
pub use files::CopyError;

pub use draft::Draft;
pub use generation::{ConfigText, Generation, SavedConfig, TrialHead};
pub use held::HeldCopy;
pub use landed::CarriedOver;
pub use manifest::FoundGeneration;
pub use save::{ListToSave, SaveOutcome, SaveTarget};
pub use store::{GenerationName, StateStore};
