//! The one door: `cargo xtask TASK`.

#![forbid(unsafe_code)]

mod bench;
mod build;
mod check;
mod demo;
mod dist;
mod fresh_root;
mod life;
mod piece;
mod prove;
mod results;
mod run;
mod side_by_side;
mod soak;
mod task;
mod test;
mod tools;
mod vm;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    task::Xtask::parse().perform().unwrap_or_else(|error| {
        eprintln!("xtask: {error:#}");
        ExitCode::FAILURE
    })
}
