//! Programs that a story puts somewhere itself.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::Reply;

/// Copies a program, for everybody to run.
///
/// By a process of its own: were it written here, another story that starts a program meanwhile would hold it open for
/// writing until that one is executed, and the kernel runs nothing that is open for writing.
pub fn copied(from: impl AsRef<Path>, to: &Path) {
    Reply::of(Command::new("cp").arg(from.as_ref()).arg(to)).succeeds();
    fs::set_permissions(to, fs::Permissions::from_mode(0o755)).expect("it is ours");
}

/// A shell script of one line, likewise.
pub fn written(to: &Path, line: &str) {
    let draft = to.with_extension("draft");
    fs::write(&draft, format!("#!/bin/sh\n{line}\n")).expect("a home can be written");
    copied(&draft, to);
    fs::remove_file(draft).expect("it was just written");
}
