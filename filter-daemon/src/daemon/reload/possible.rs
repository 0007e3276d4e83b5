//! The conditions that a configuration must meet to take effect. A start, a reload and a `diff` check them.

use crate::config::Config;
use crate::daemon::error::DaemonError;

/// Refuses a configuration that leaves nothing to filter, or that names a list like a live one with entries.
/// `live_entries` counts the entries of the live list of a name.
pub fn must_be_possible(
    config: &Config,
    command_line: &[String],
    live_entries: impl Fn(&str) -> u64,
) -> Result<(), DaemonError> {
    if config.interfaces_besides(command_line).is_empty() {
        return Err(DaemonError::NoInterface);
    }
    let names = config.lists.iter().map(|list| list.name.as_str());
    match names.map(|name| (name, live_entries(name))).find(|(_, entries)| *entries > 0) {
        Some((name, entries)) => {
            Err(DaemonError::ListIsLive { name: name.to_owned(), entries, instead: Vec::new() })
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config;

    fn config(text: &str) -> Config {
        config::parse(Path::new("/etc/filterd/filterd.yaml"), text.as_bytes().to_vec()).unwrap()
    }

    #[test]
    fn live_list_with_entries_keeps_its_name() {
        let config = config("interfaces: [eth0]\nlists: [{name: a, path: a.txt}, {name: sshd, path: b.txt}]");
        let live = |name: &str| if name == "sshd" { 2 } else { 0 };
        let refused = must_be_possible(&config, &[], live).unwrap_err();
        assert!(
            matches!(&refused, DaemonError::ListIsLive { name, entries: 2, .. } if name == "sshd"),
            "{refused}"
        );
        must_be_possible(&config, &[], |_| 0).unwrap();
    }

    #[test]
    fn configuration_without_interface_needs_one_from_elsewhere() {
        let config = config("block: [203.0.113.7]");
        let refused = must_be_possible(&config, &[], |_| 0).unwrap_err();
        assert!(matches!(refused, DaemonError::NoInterface), "{refused}");
        must_be_possible(&config, &["eth0".to_owned()], |_| 0).unwrap();
    }
}
