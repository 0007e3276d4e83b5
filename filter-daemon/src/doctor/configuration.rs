//! Checks the configuration that `filterd run` would read, and finds the wanted interfaces.

use std::path::Path;

use super::findings::told;
use super::{Findings, Subject};
use crate::config::{self, Config, ConfigError, Mode};
use crate::control::wire::status::NOT_FILTERED;
use crate::source::file::FileError;
use crate::text::{Explain, printable};

const CHECK: &str = "configuration";

/// What the configuration wants to be filtered.
#[derive(Debug, PartialEq, Eq)]
pub struct Wanted {
    pub interfaces: WantedInterfaces,
    pub mode: Mode,
}

/// The interfaces to filter.
#[derive(Debug, PartialEq, Eq)]
pub enum WantedInterfaces {
    Named(Vec<String>),
    /// No interface is named anywhere.
    Nothing,
}

/// Reads the configuration, and returns the wanted interfaces: those that were named, those of the
/// configuration, and those that a daemon filters already.
pub fn check(subject: &Subject, findings: &mut Findings) -> Wanted {
    let config = subject.config.as_ref().and_then(|path| read(path, subject.is_config_named, findings));
    let mode = config.as_ref().map_or(Mode::Auto, |config| config.mode);
    Wanted { interfaces: interfaces(config, subject, findings), mode }
}

fn interfaces(config: Option<Config>, subject: &Subject, findings: &mut Findings) -> WantedInterfaces {
    let mut names = config
        .map_or_else(|| subject.interfaces.clone(), |config| config.interfaces_besides(&subject.interfaces));
    if let Some(status) = subject.daemon.answer() {
        let filtered = status.interfaces.iter().filter(|interface| interface.mode != NOT_FILTERED);
        let more: Vec<_> =
            filtered.map(|interface| interface.name.clone()).filter(|name| !names.contains(name)).collect();
        names.extend(more);
    }
    if !names.is_empty() {
        return WantedInterfaces::Named(names);
    }
    let message = "no interface is configured: the active ones were checked";
    findings.warn(
        CHECK,
        message,
        Some("filterd doctor --iface eth0, or `interfaces: [eth0]` in the configuration".to_owned()),
    );
    WantedInterfaces::Nothing
}

fn read(path: &Path, is_named: bool, findings: &mut Findings) -> Option<Config> {
    match config::load(path) {
        Ok(config) => {
            findings.ok(
                CHECK,
                format!("{} is valid (`filterd check` reads its lists, too)", printable::path(path)),
            );
            Some(config)
        }
        Err(_) if !is_named && !path.exists() => None,
        Err(ConfigError::File(FileError::Denied { .. })) => {
            findings.could_not_see(printable::path(path).to_string());
            None
        }
        Err(error) => {
            let (message, remedy) = told(&error.explain());
            findings.fail(
                CHECK,
                message,
                remedy.or_else(|| Some(format!("filterd check {}", printable::path(path)))),
            );
            None
        }
    }
}
