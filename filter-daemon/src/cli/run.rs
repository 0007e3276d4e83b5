//! The arguments of the daemon.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};

use super::places;
use crate::accounts::{self, User};
use crate::config::{InterfaceNameError, Mode, OnExit, check_interface_name};
use crate::control::client::{Endpoint, TIMEOUT};
use crate::text::printable;

// As typed. A doc comment would become the help of `filterd run`.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Running")]
pub struct RunArguments {
    /// Filter this interface. Repeatable [default: those of the configuration]
    #[arg(short, long = "iface", value_name = "IF", value_parser = interface_name)]
    interfaces: Vec<String>,
    /// Read this configuration [default: /etc/filterd/filterd.yaml, if it exists]
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Read no configuration, and delete the copies of the last one and of its lists
    #[arg(long)]
    no_config: bool,
    /// How to attach [default: `mode` of the configuration, else auto]
    #[arg(short, long, value_parser = mode, value_name = "auto|native|tc")]
    mode: Option<Mode>,
    /// Directory for what survives a restart, with copies of configuration and lists [default: /var/lib/filterd]
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,
    /// Directory of pins, on a BPF file system [default: /sys/fs/bpf/filterd]
    #[arg(long, value_name = "DIR", value_parser = OsStringValueParser::new().try_map(places::pins))]
    pin_dir: Option<PathBuf>,
    /// Become this user after a start by root [default: filterd, or if there is no such user: user 65525]
    #[arg(long, value_name = "NAME", value_parser = user)]
    user: Option<User>,
    /// Remove or keep the filter on exit [default: `on_exit` of the configuration, else detach]
    #[arg(long, value_parser = on_exit, value_name = "detach|keep")]
    on_exit: Option<OnExit>,
    /// Format of the log [default: text, or json with --json]
    #[arg(long, value_parser = log_format, value_name = "text|json")]
    log_format: Option<LogFormat>,
    /// Replace the filterd that runs at the same socket, without a gap
    #[arg(long)]
    take_over: bool,
    #[arg(long, hide = true, requires = "take_over")]
    rehearse: bool,
}

/// The checked arguments, with which the daemon can start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Interfaces to filter in addition to those of the configuration, without duplicates.
    pub interfaces: Vec<String>,
    /// The configuration to read.
    pub config: ConfigFile,
    /// How to attach. If none, the configuration decides.
    pub mode: Option<Mode>,
    /// The path of the control socket.
    pub socket: PathBuf,
    /// The directory for what survives a restart.
    pub state_dir: PathBuf,
    /// The directory of pinned links and maps.
    pub pin_dir: PathBuf,
    /// The user to become, if any.
    pub user: Option<User>,
    /// Whether the filter stays on exit. If none, the configuration decides.
    pub on_exit: Option<OnExit>,
    /// Does this daemon replace the one at the socket?
    pub take_over: bool,
    /// Only try out whether it could?
    pub rehearses: bool,
    /// How long that one may be silent. If none, there is no limit.
    pub timeout: Option<Duration>,
    /// The settings of the log.
    pub log: Log,
    /// Print the reason of a failed start as JSON?
    pub json: bool,
}

/// The settings of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Log {
    /// The format of its lines.
    pub format: LogFormat,
    /// Does it contain only errors and warnings?
    pub quiet: bool,
}

/// The format of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// Lines of plain text.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

impl Log {
    /// The options that make another filterd log in the same way.
    pub fn words(self) -> Vec<&'static str> {
        let quiet = self.quiet.then_some("--quiet");
        let json = (self.format == LogFormat::Json).then_some("--log-format=json");
        quiet.into_iter().chain(json).collect()
    }
}

/// The configuration to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigFile {
    /// A named file, which must exist.
    Named(PathBuf),
    /// The default file, if it exists.
    Usual(PathBuf),
    /// No configuration at all.
    None,
}

impl ConfigFile {
    /// The path of the file, if any.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Named(path) | Self::Usual(path) => Some(path),
            Self::None => None,
        }
    }
}

impl RunArguments {
    /// Merges the options before the word `run` with those after it, which take precedence.
    pub fn and(mut self, further: Self) -> Self {
        self.interfaces.extend(further.interfaces);
        Self {
            interfaces: self.interfaces,
            no_config: further.no_config || (self.no_config && further.config.is_none()),
            config: if further.no_config { None } else { further.config.or(self.config) },
            mode: further.mode.or(self.mode),
            state_dir: further.state_dir.or(self.state_dir),
            pin_dir: further.pin_dir.or(self.pin_dir),
            user: further.user.or(self.user),
            log_format: further.log_format.or(self.log_format),
            on_exit: further.on_exit.or(self.on_exit),
            take_over: further.take_over || self.take_over,
            rehearse: further.rehearse || self.rehearse,
        }
    }

    /// The settings of the log that follow from these options.
    pub fn log(&self, quiet: bool, json: bool) -> Log {
        let usual = if json { LogFormat::Json } else { LogFormat::Text };
        Log { format: self.log_format.unwrap_or(usual), quiet }
    }

    /// Rejects options of the daemon before another command.
    pub fn must_be_empty(&self) -> Result<(), String> {
        let given = [
            (!self.interfaces.is_empty(), "--iface"),
            (self.config.is_some(), "--config"),
            (self.no_config, "--no-config"),
            (self.mode.is_some(), "--mode"),
            (self.state_dir.is_some(), "--state-dir"),
            (self.pin_dir.is_some(), "--pin-dir"),
            (self.user.is_some(), "--user"),
            (self.on_exit.is_some(), "--on-exit"),
            (self.log_format.is_some(), "--log-format"),
            (self.take_over, "--take-over"),
            (self.rehearse, "--rehearse"),
        ];
        match given.iter().find(|(given, _)| *given) {
            Some((_, flag)) => {
                Err(format!("{flag} is an option of `filterd run`, and cannot be used with another command"))
            }
            None => Ok(()),
        }
    }

    /// Checks the options. The default configuration need not be named.
    pub fn checked(self, at: Endpoint, quiet: bool, json: bool) -> Result<Run, String> {
        let Endpoint { socket, timeout } = at;
        let log = self.log(quiet, json);
        Ok(Run { log, json, timeout, ..self.checked_with(socket, Path::new(places::CONFIG))? })
    }

    fn checked_with(mut self, socket: PathBuf, usual: &Path) -> Result<Run, String> {
        let mut seen = Vec::new();
        self.interfaces.retain(|name| {
            !seen.contains(name) && {
                seen.push(name.clone());
                true
            }
        });
        let state_dir = self.state_dir.unwrap_or_else(|| places::STATE.into());
        let config = match (self.config, self.no_config) {
            (Some(_), true) => return Err("--config and --no-config contradict each other".to_owned()),
            (Some(file), false) => ConfigFile::Named(file),
            (None, true) => ConfigFile::None,
            (None, false) => ConfigFile::Usual(usual.to_owned()),
        };
        let may_be_read = match &config {
            ConfigFile::Named(_) => true,
            // A missing configuration may have a copy.
            ConfigFile::Usual(path) => {
                path.exists() || places::CONFIG_COPIES.iter().any(|copy| state_dir.join(copy).exists())
            }
            ConfigFile::None => false,
        };
        if self.interfaces.is_empty() && !may_be_read {
            let there = if config == ConfigFile::None { String::new() } else { none_at(usual) };
            return Err(format!(
                "no interface to filter: name one with `--iface eth0`, or name a configuration with --config{there}"
            ));
        }
        // A new daemon that takes over is the same user as the old one, which must still be able to use the state.
        let before = fs::metadata(&state_dir).ok().filter(|_| self.take_over);
        let default = || accounts::default_user(before.map(|state| state.uid()));
        Ok(Run {
            interfaces: self.interfaces,
            config,
            mode: self.mode,
            socket,
            state_dir,
            pin_dir: self.pin_dir.unwrap_or_else(|| places::PINS.into()),
            user: self.user.or_else(default),
            on_exit: self.on_exit,
            take_over: self.take_over,
            rehearses: self.rehearse,
            timeout: Some(TIMEOUT),
            log: Log::default(),
            json: false,
        })
    }
}

fn none_at(usual: &Path) -> String {
    format!(" (there is none at {})", printable::path(usual))
}

/// Checks a name of an interface.
pub fn interface_name(name: &str) -> Result<String, String> {
    match check_interface_name(name) {
        Ok(()) => Ok(name.to_owned()),
        Err(InterfaceNameError::Several { names }) => {
            let each: Vec<_> = names.iter().map(|name| format!("--iface {name}")).collect();
            Err(format!("these are several names: write {}", each.join(" ")))
        }
        Err(error @ InterfaceNameError::Character { character }) if character.is_whitespace() => {
            Err(format!("{error}: write --iface once for each name"))
        }
        Err(error) => Err(format!("{error}: {}", error.hint())),
    }
}

/// Finds a user of this machine.
pub fn user(name: &str) -> Result<User, String> {
    let found = accounts::user(name).map_err(|error| error.to_string())?;
    found.ok_or_else(|| "there is no such user in /etc/passwd".to_owned())
}

/// Finds a user of this machine, or the daemon's own user even if it is not listed.
pub fn user_or_own(name: &str) -> Result<User, String> {
    if name == accounts::OWN { Ok(accounts::own()) } else { user(name) }
}

fn on_exit(word: &str) -> Result<OnExit, String> {
    let is_it = |known: &OnExit| known.name() == word;
    [OnExit::Detach, OnExit::Keep].into_iter().find(is_it).ok_or_else(|| "write detach or keep".to_owned())
}

fn log_format(word: &str) -> Result<LogFormat, String> {
    match word {
        "text" => Ok(LogFormat::Text),
        "json" => Ok(LogFormat::Json),
        _ => Err("write text or json".to_owned()),
    }
}

fn mode(word: &str) -> Result<Mode, String> {
    match word {
        "auto" => Ok(Mode::Auto),
        "native" => Ok(Mode::Native),
        "tc" => Ok(Mode::Tc),
        "generic" => Ok(Mode::Generic),
        _ => Err("write auto, native or tc".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(run: RunArguments, usual: &Path) -> Result<Run, String> {
        run.checked_with("control.sock".into(), usual)
    }

    #[test]
    fn default_configuration_is_read_without_interfaces() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let run = checked(RunArguments::default(), file.path()).unwrap();
        assert_eq!(run.config, ConfigFile::Usual(file.path().to_owned()));
        let nowhere = RunArguments { state_dir: Some("/nowhere".into()), ..RunArguments::default() };
        let error = checked(nowhere, Path::new("/nowhere")).unwrap_err();
        assert!(error.contains("--iface eth0") && error.contains("none at /nowhere"), "{error}");
    }

    #[test]
    fn missing_configuration_is_named_if_copied() {
        let state = tempfile::tempdir().unwrap();
        std::fs::write(state.path().join(places::CONFIG_COPIES[0]), "").unwrap();
        let arguments = RunArguments { state_dir: Some(state.path().into()), ..RunArguments::default() };
        assert_eq!(
            checked(arguments, Path::new("/nowhere")).unwrap().config,
            ConfigFile::Usual("/nowhere".into())
        );
    }

    #[test]
    fn interfaces_add_to_the_default_configuration() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let arguments = RunArguments {
            interfaces: vec!["eth0".into(), "eth1".into(), "eth0".into()],
            ..RunArguments::default()
        };
        let run = checked(arguments, file.path()).unwrap();
        assert_eq!(run.config, ConfigFile::Usual(file.path().to_owned()));
        assert_eq!(run.interfaces, ["eth0", "eth1"]);
    }

    #[test]
    fn no_config_reads_no_configuration() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let arguments = |config: Option<&str>| RunArguments {
            interfaces: vec!["eth0".into()],
            config: config.map(Into::into),
            no_config: true,
            ..RunArguments::default()
        };
        assert_eq!(checked(arguments(None), file.path()).unwrap().config, ConfigFile::None);
        assert!(checked(arguments(Some("f.yaml")), file.path()).unwrap_err().contains("contradict"));
        let nothing = RunArguments { no_config: true, ..RunArguments::default() };
        assert!(checked(nothing, file.path()).unwrap_err().contains("--iface eth0"));
    }
}
