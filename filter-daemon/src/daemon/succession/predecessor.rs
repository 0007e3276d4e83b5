//! The filterd that is to be replaced.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::cli::Run;
use crate::control::client::{Client, ClientError, Endpoint};
use crate::control::wire::{Failure, HandOver, Status, status};
use crate::daemon::error::DaemonError;
use crate::daemon::not_succeeded::SuccessionError;
use crate::text::Explain;

/// A filterd that runs at the socket.
pub struct Predecessor {
    client: Client,
    replaced: Replaced,
}

/// What is known of a filterd after its end.
pub struct Replaced {
    /// The status of its interfaces.
    pub interfaces: Vec<status::Interface>,
    /// The command that starts it again.
    command: String,
}

/// Options of a new filterd only.
const NOT_AGAIN: [&[u8]; 2] = [b"--take-over", b"--rehearse"];

impl Predecessor {
    /// Finds the filterd that listens at the socket. Returns none if there is none, or if it is ending.
    pub fn find(run: &Run) -> Result<Option<Self>, SuccessionError> {
        let at = Endpoint { socket: run.socket.clone(), timeout: run.timeout };
        let asked = Client::connect(at).and_then(|mut client| Ok((client.call(&Status {})?, client)));
        match asked {
            Ok((status::Reply { pid, interfaces, .. }, client)) => {
                let command = command_of(&PathBuf::from(format!("/proc/{pid}")));
                Ok(Some(Self { client, replaced: Replaced { interfaces, command } }))
            }
            Err(
                ClientError::NotRunning(_)
                | ClientError::SocketGone { .. }
                | ClientError::Closed(_)
                | ClientError::Failed(Failure::Unavailable(_)),
            ) => Ok(None),
            Err(error) => Err(SuccessionError::NotAsked(error)),
        }
    }

    /// Asks it to finish its work and to end. Its filter stays attached.
    pub fn end(mut self) -> Result<Replaced, SuccessionError> {
        let interfaces = self.client.call_once(&Status {})?.interfaces;
        self.client.call_once(&HandOver {})?;
        Ok(Replaced { interfaces, ..self.replaced })
    }
}

impl Replaced {
    /// The error of a filterd that fails after this one has ended.
    pub fn without_successor(&self, error: &DaemonError) -> SuccessionError {
        SuccessionError::Fallen { why: error.explain(), command: self.command.clone() }
    }
}

/// The command that starts this process again, for a shell: that of its service, or its own.
fn command_of(process: &Path) -> String {
    service_of(process).map_or_else(|| own_command(process), |unit| format!("sudo systemctl start {unit}"))
}

/// The service of systemd that has started this process.
fn service_of(process: &Path) -> Option<String> {
    let status = fs::read_to_string(process.join("status")).ok()?;
    let is_started_by_systemd = status.lines().any(|line| line == "PPid:\t1");
    let groups = fs::read_to_string(process.join("cgroup")).ok()?;
    let unit = groups.trim_end().rsplit('/').next()?;
    let is_plain =
        |unit: &&str| unit.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.@:".contains(&byte));
    Some(unit)
        .filter(|unit| is_started_by_systemd && unit.ends_with(".service"))
        .filter(is_plain)
        .map(str::to_owned)
}

fn own_command(process: &Path) -> String {
    let line = fs::read(process.join("cmdline")).unwrap_or_default();
    let mut words = line.strip_suffix(b"\0").unwrap_or(&line).split(|byte| *byte == 0);
    let typed = words.next().filter(|typed| !typed.is_empty()).unwrap_or(b"filterd");
    // An upgrade may have put another file at this path, and then the path ends with a note.
    let program = fs::read_link(process.join("exe")).ok();
    let program = program.as_ref().map(|path| path.as_os_str().as_bytes());
    let program = program.map_or(typed, |path| path.strip_suffix(b" (deleted)").unwrap_or(path));
    let kept = words.filter(|word| !NOT_AGAIN.contains(word));
    let all: Vec<_> = [program].into_iter().chain(kept).map(quoted).collect();
    let directory = fs::read_link(process.join("cwd"))
        .ok()
        .filter(|path| std::env::current_dir().is_ok_and(|here| here != *path));
    let directory = directory.map(|path| format!("cd {} && ", quoted(path.as_os_str().as_bytes())));
    directory.unwrap_or_default() + &all.join(" ")
}

/// The word as a shell reads it.
fn quoted(word: &[u8]) -> String {
    let word = OsStr::from_bytes(word).to_string_lossy();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:=,@%+".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        return word.into_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn process(files: &[(&str, &str)]) -> tempfile::TempDir {
        let process = tempfile::tempdir().unwrap();
        files.iter().for_each(|(name, text)| fs::write(process.path().join(name), text).unwrap());
        process
    }

    #[test]
    fn own_command_is_quoted_for_a_shell() {
        let line = "filterd\0run\0--take-over\0--config\0/a b/it's.yaml\0--iface\0\0";
        let old = process(&[("cmdline", line)]);
        symlink("/opt/filterd 1 (deleted)", old.path().join("exe")).unwrap();
        assert_eq!(command_of(old.path()), "'/opt/filterd 1' run --config '/a b/it'\\''s.yaml' --iface ''");
    }

    #[test]
    fn command_changes_to_the_other_directory() {
        let old = process(&[("cmdline", "./filterd\0-i\0eth0\0")]);
        symlink("/", old.path().join("cwd")).unwrap();
        assert_eq!(command_of(old.path()), "cd / && ./filterd -i eth0");
    }

    #[test]
    fn service_is_started_by_systemd() {
        let group = "0::/system.slice/filterd.service\n";
        let service = process(&[("status", "Name:\tfilterd\nPPid:\t1\n"), ("cgroup", group)]);
        assert_eq!(command_of(service.path()), "sudo systemctl start filterd.service");
        let shell = process(&[("status", "PPid:\t77\n"), ("cgroup", group), ("cmdline", "filterd\0")]);
        assert_eq!(command_of(shell.path()), "filterd");
    }
}
