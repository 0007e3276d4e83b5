//! Stories that go on for long: the same as in an operator's year, in minutes. `cargo xtask soak NAME` tells each in full;
//! `cargo xtask test` in short. Every zero has its control beside it, which must not be zero.

mod clients;
#[path = "../../filter-ebpf/bench/packet/crowd.rs"]
#[expect(dead_code, reason = "nobody here sends IPv6")]
mod crowd;
mod day;
mod exact;
mod exchange;
mod filter;
mod kill;
mod life;
mod mangled;
mod moves;
mod population;
mod programs;
mod prometheus;
mod restart;
mod six;
mod watched;

/// So many rounds: few in a test run, many when soaking.
fn rounds(few: usize, many: usize) -> usize {
    if is_full() { many } else { few }
}

fn is_full() -> bool {
    std::env::var_os("FILTERD_SOAK").is_some()
}
