//! What the daemon is started with.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use clap::Args;

use super::places;
use crate::accounts::{self, User};
use crate::config::{Mode, check_interface_name};

// As typed. No more than a comment, since it would become the help of `filterd run`.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Running")]
pub struct RunArguments {
    /// Filter this interface; may be given several times
    #[arg(short, long = "iface", value_name = "IF", value_parser = interface)]
    interfaces: Vec<String>,
    /// Read this configuration
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// How to attach; over the configuration's `mode`
    #[arg(short, long, value_parser = mode, value_name = "auto|native|generic")]
    mode: Option<Mode>,
    /// What must survive a restart [default: /var/lib/filterd]
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,
    /// Pins of link and maps, on a bpf file system [default: /sys/fs/bpf/filterd]
    #[arg(long, value_name = "DIR")]
    pin_dir: Option<PathBuf>,
    /// Be this user once everything is open [default for root: filterd, if there is such a user]
    #[arg(long, value_name = "NAME", value_parser = user)]
    user: Option<User>,
    /// Take the place of a filterd that runs with the same socket, without a gap
    #[arg(long)]
    take_over: bool,
}

/// As checked: there is something to run with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Interfaces to filter besides those of the configuration, none of them twice.
    pub interfaces: Vec<String>,
    /// The configuration to read; there is one if there is no interface.
    pub config: Option<PathBuf>,
    /// How to attach; the configuration decides if none.
    pub mode: Option<Mode>,
    /// Where to listen for commands.
    pub socket: PathBuf,
    /// What must survive a restart.
    pub state_dir: PathBuf,
    /// Pins of link and maps.
    pub pin_dir: PathBuf,
    /// Whom to become; nobody else if none.
    pub user: Option<User>,
    /// Must whoever listens at the socket make way?
    pub take_over: bool,
}

impl RunArguments {
    /// Both together: what stands before the word `run` and what stands behind it, which counts more.
    pub fn and(mut self, further: Self) -> Self {
        self.interfaces.extend(further.interfaces);
        Self {
            interfaces: self.interfaces,
            config: further.config.or(self.config),
            mode: further.mode.or(self.mode),
            state_dir: further.state_dir.or(self.state_dir),
            pin_dir: further.pin_dir.or(self.pin_dir),
            user: further.user.or(self.user),
            take_over: further.take_over || self.take_over,
        }
    }

    /// What only the daemon knows what to do with cannot stand before another command.
    pub fn must_be_empty(&self) -> Result<(), String> {
        let given = [
            (!self.interfaces.is_empty(), "--iface"),
            (self.config.is_some(), "--config"),
            (self.mode.is_some(), "--mode"),
            (self.state_dir.is_some(), "--state-dir"),
            (self.pin_dir.is_some(), "--pin-dir"),
            (self.user.is_some(), "--user"),
            (self.take_over, "--take-over"),
        ];
        match given.iter().find(|(given, _)| *given) {
            Some((_, flag)) => {
                Err(format!("{flag} is for running filterd, and cannot go with another command"))
            }
            None => Ok(()),
        }
    }

    /// Without a word about what to filter, the configuration at its usual place is asked.
    pub fn checked(self, socket: PathBuf) -> Result<Run, String> {
        self.checked_with(socket, Path::new(places::CONFIG))
    }

    fn checked_with(mut self, socket: PathBuf, usual: &Path) -> Result<Run, String> {
        let mut seen = Vec::new();
        self.interfaces.retain(|name| {
            !seen.contains(name) && {
                seen.push(name.clone());
                true
            }
        });
        if self.interfaces.is_empty() && self.config.is_none() {
            if !usual.exists() {
                return Err(format!(
                    "nothing to filter: say where with `--iface eth0`, or give a configuration with --config \
                     (there is none at {})",
                    usual.display()
                ));
            }
            self.config = Some(usual.to_owned());
        }
        let state_dir = self.state_dir.unwrap_or_else(|| places::STATE.into());
        // One that takes over is who the one before was, within whose reach the state is to stay.
        let before = fs::metadata(&state_dir).ok().filter(|_| self.take_over);
        let default = || accounts::default_user(before.map(|state| state.uid()));
        Ok(Run {
            interfaces: self.interfaces,
            config: self.config,
            mode: self.mode,
            socket,
            state_dir,
            pin_dir: self.pin_dir.unwrap_or_else(|| places::PINS.into()),
            user: self.user.or_else(default),
            take_over: self.take_over,
        })
    }
}

fn interface(name: &str) -> Result<String, String> {
    check_interface_name(name).map_err(|error| error.to_string())?;
    Ok(name.to_owned())
}

/// A user of this machine.
pub fn user(name: &str) -> Result<User, String> {
    let found = accounts::user(name).map_err(|error| error.to_string())?;
    found.ok_or_else(|| "there is no such user in /etc/passwd".to_owned())
}

fn mode(word: &str) -> Result<Mode, String> {
    match word {
        "auto" => Ok(Mode::Auto),
        "native" => Ok(Mode::Native),
        "generic" => Ok(Mode::Generic),
        _ => Err("write auto, native or generic".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(run: RunArguments, usual: &Path) -> Result<Run, String> {
        run.checked_with("control.sock".into(), usual)
    }

    #[test]
    fn without_an_interface_the_usual_configuration_is_asked_if_there_is_one() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let run = checked(RunArguments::default(), file.path()).unwrap();
        assert_eq!(run.config.as_deref(), Some(file.path()));
        let error = checked(RunArguments::default(), Path::new("/nowhere")).unwrap_err();
        assert!(error.contains("--iface eth0"), "{error}");
    }

    #[test]
    fn with_an_interface_it_is_not() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let arguments = RunArguments {
            interfaces: vec!["eth0".into(), "eth1".into(), "eth0".into()],
            ..RunArguments::default()
        };
        let run = checked(arguments, file.path()).unwrap();
        assert_eq!(run.config, None);
        assert_eq!(run.interfaces, ["eth0", "eth1"]);
    }
}
