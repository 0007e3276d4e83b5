//! Stories that go on for long: the same as in an operator's year, in minutes. `cargo xtask soak NAME` tells each in full;
//! `cargo xtask test` in short. Every zero has its control beside it, which must not be zero.

mod clients;
mod day;
mod kill;
mod mangled;
mod population;
mod restart;

/// So many rounds: few in a test run, many when soaking.
fn rounds(few: usize, many: usize) -> usize {
    if std::env::var_os("FILTERD_SOAK").is_some() { many } else { few }
}
