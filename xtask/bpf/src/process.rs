//! Other programs: run, asked and found, with an error that names the one that failed.

use std::env;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// Runs it to its end. What it prints goes where ours goes.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| cannot_start(command))?;
    ensure!(status.success(), "`{}` failed ({status})", line(command));
    Ok(())
}

/// Runs it to its end, without its output unless it fails.
pub fn run_quietly(command: &mut Command) -> Result<()> {
    output(command).map(drop)
}

/// What it prints on its standard output.
pub fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| cannot_start(command))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`{}` failed ({}): {}", line(command), output.status, said.trim());
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Where a program lies: on the path, or where root's programs lie.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let directories = env::split_paths(&path).chain(["/usr/sbin", "/sbin"].map(PathBuf::from));
    directories.map(|directory| directory.join(program)).find(|file| file.is_file())
}

/// `directory` before everything else on the path.
pub fn path_with(directory: &Path) -> std::ffi::OsString {
    let path = env::var_os("PATH").unwrap_or_default();
    let directories = [directory.to_owned()].into_iter().chain(env::split_paths(&path));
    env::join_paths(directories).unwrap_or(path)
}

/// May we change this machine? A process's own files in /proc belong to its effective user.
pub fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|about| about.uid() == 0)
}

/// The command as one would type it.
pub fn line(command: &Command) -> String {
    let words = [command.get_program()].into_iter().chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

fn cannot_start(command: &Command) -> String {
    format!("cannot start `{}`", command.get_program().display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failure_names_command_and_its_output() {
        let error = output(Command::new("sh").args(["-c", "echo alas >&2; exit 3"])).unwrap_err().to_string();
        assert!(error.contains("sh -c") && error.contains('3') && error.contains("alas"), "{error}");
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let error = run(&mut Command::new("no-such-program")).unwrap_err();
        assert!(error.to_string().contains("no-such-program"), "{error}");
        assert_eq!(find("no-such-program"), None);
    }

    #[test]
    fn the_shell_is_found() {
        assert!(find("sh").is_some());
    }
}
