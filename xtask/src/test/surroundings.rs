//! The environment that tests get: the same wherever and however xtask was started.

use std::env;
use std::ffi::{OsStr, OsString};
use std::process::Command;

/// What is handed on as the caller has it: where programs and caches lie, and what chooses or reseeds tests.
const KEPT: [&str; 8] =
    ["PATH", "HOME", "CARGO", "CARGO_HOME", "CARGO_TARGET_DIR", "RUSTC", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"];

/// Variables of ours begin with one of these.
const OURS: [&str; 4] = ["FILTERD_", "PROPTEST_", "ODD_INPUTS", "WORDING"];

/// Variables of ours that mean something to filterd itself.
const FILTERDS_OWN: [&str; 2] = ["FILTERD_SOCKET", "FILTERD_LOG"];

/// What everybody gets: no locale, no time zone, no colours, and temporary files where every user may write.
const SET: [(&str, &str); 4] =
    [("LC_ALL", "C.UTF-8"), ("TZ", "UTC"), ("RUST_BACKTRACE", "0"), ("USER", "root")];

/// Gives the command the known environment, and then what was set for it already.
pub fn set(command: &mut Command) {
    let own: Vec<(OsString, Option<OsString>)> =
        command.get_envs().map(|(name, value)| (name.to_owned(), value.map(OsStr::to_owned))).collect();
    command.env_clear();
    command.envs(env::vars_os().filter(|(name, _)| is_kept(name))).envs(SET);
    for (name, value) in own {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
}

fn is_kept(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    KEPT.contains(&name) || OURS.iter().any(|begin| name.starts_with(begin)) && !FILTERDS_OWN.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_ignore_locale_proxy_and_colours() {
        for (name, kept) in [
            ("PATH", true),
            ("HOME", true),
            ("FILTERD_SEED", true),
            ("PROPTEST_CASES", true),
            ("FILTERD_SOCKET", false),
            ("LANG", false),
            ("LC_ALL", false),
            ("http_proxy", false),
            ("NO_COLOR", false),
            ("XDG_RUNTIME_DIR", false),
            ("SSH_CONNECTION", false),
        ] {
            assert_eq!(is_kept(OsStr::new(name)), kept, "{name}");
        }
    }

    #[test]
    fn variables_set_for_a_test_stay() {
        let mut command = Command::new("true");
        command.env("PATH", "/only").env("FILTERD_BIN", "/x");
        set(&mut command);
        let value = |name: &str| {
            command.get_envs().find(|(key, _)| *key == name).and_then(|(_, value)| value?.to_str())
        };
        assert_eq!(
            (value("PATH"), value("FILTERD_BIN"), value("LC_ALL")),
            (Some("/only"), Some("/x"), Some("C.UTF-8"))
        );
    }
}
