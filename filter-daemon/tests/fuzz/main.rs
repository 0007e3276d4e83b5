//! Whatever comes in from outside is read without a panic, and in memory that the input bounds: lists, the configuration,
//! both sides of the wire, the line to the broker, the journal's rows and pages, the copies of lists, databases of networks.
//!
//! What is fed in begins as a kept corpus and is changed at random, the same in every run. `FILTERD_FUZZ` says how many
//! inputs each story takes (`cargo xtask soak fuzz` says a million), `FILTERD_SEED` which are the first.

mod broker;
mod configuration;
mod corpus;
mod database;
mod forms;
mod hold;
mod line;
mod list;
mod manifest;
mod memory;
mod mutator;
mod pages;
#[path = "../../../tests/harness/random.rs"]
#[expect(dead_code, reason = "nobody here asks for addresses")]
mod random;
mod record;
mod reply;
mod request;
mod times;
mod words;
