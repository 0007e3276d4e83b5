//! Frames through the real bytecode, by BPF_PROG_TEST_RUN, and through the same code run natively. Needs root.

mod addresses;
mod allowed;
mod counterexamples;
mod counts;
mod flows;
mod judges;
mod others;
mod pieces;
mod ports;
mod prefixes;
mod replays;
mod samples;
mod tags;
mod truncated;
mod wild;
