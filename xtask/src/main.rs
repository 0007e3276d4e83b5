//! The one door: `cargo xtask TASK`.

#![forbid(unsafe_code)]

mod bench;
mod build;
mod check;
mod cost;
mod cross;
mod demo;
mod dist;
mod fresh_root;
mod kept;
mod life;
mod manual;
mod piece;
mod processor;
mod prove;
mod results;
mod run;
mod side_by_side;
mod soak;
mod surroundings;
mod task;
mod test;
mod told;
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
