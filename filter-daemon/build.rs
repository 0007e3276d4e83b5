//! Lays the BPF objects beside the daemon's code, which embeds them.

use std::process::ExitCode;

fn main() -> ExitCode {
    let Err(error) = bpf_build::compiled::embed() else { return ExitCode::SUCCESS };
    format!("{error:#}").lines().for_each(|line| println!("cargo::error={}", line.trim()));
    ExitCode::FAILURE
}
