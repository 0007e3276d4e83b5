//! A command line that was not understood, told to people or to programs; and help, which is no fault.

use std::process::exit;

use clap::error::ErrorKind;
use serde::Serialize;

use crate::command::render::console;
use crate::control::wire::Failure;
use crate::exit::Exit;
use crate::text::{Explanation, printable};

/// What programs are told of this one, beside the version of what they read.
#[derive(Serialize)]
struct Version {
    filterd: &'static str,
    licence: &'static str,
}

/// Tells it, and ends the process.
pub fn tell(error: &clap::Error, json: bool) -> ! {
    if json && error.kind() == ErrorKind::DisplayVersion {
        console::print_json(&Version {
            filterd: env!("CARGO_PKG_VERSION"),
            licence: env!("CARGO_PKG_LICENSE"),
        });
        exit(Exit::Done as i32);
    }
    if !error.use_stderr() {
        error.exit();
    }
    let told = error.to_string();
    if json {
        console::print_json(&Failure::InvalidRequest(explained(&told)));
    } else {
        // What was typed may come from anywhere, and is quoted in it.
        eprint!("{}", printable::lines(&told));
    }
    exit(Exit::Usage as i32)
}

/// What clap lays out for people, as message and remedy.
fn explained(told: &str) -> Explanation {
    let told = told.strip_prefix("error: ").unwrap_or(told);
    let lines: Vec<_> = told.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let advice = |line: &&str| line.starts_with("Usage:") || line.starts_with("For more information");
    let end = lines.iter().position(advice).unwrap_or(lines.len());
    let remedy = "`filterd help` tells how commands are written, `filterd help COMMAND` how that one is";
    Explanation::new(lines[..end].join("\n"), remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_told_without_layout() {
        let told = "error: invalid value '2x' for '--ttl <TIME>': write seconds\n\n  tip: a\n\nUsage: x\n\nFor more information, try '--help'.\n";
        let explained = explained(told);
        assert_eq!(explained.message, "invalid value '2x' for '--ttl <TIME>': write seconds\ntip: a");
        assert!(explained.remedy.is_some_and(|remedy| !remedy.contains("Usage")));
    }
}
