//! What people type who remember another program's words: each is told ours.

use std::net::IpAddr;
use std::path::Path;

use filter_common::target::Span;

use crate::text::printable;

/// Words that are no command of ours, and what to type instead.
const OTHERS: [(&[&str], &str); 22] = [
    (
        &["block", "ban", "deny", "drop", "insert", "append", "blacklist", "blocklist", "reject", "create"],
        "`filterd add` blocks",
    ),
    (
        &["unblock", "unban", "rm", "delete", "release", "forgive", "unlist", "free"],
        "`filterd remove` takes out what was added",
    ),
    (
        &["whitelist", "allowlist", "permit", "accept", "exempt", "guard"],
        "`filterd allow add` lets packets pass, whatever is blocked",
    ),
    (
        &["why", "is", "lookup", "query", "find", "search", "contains", "get", "blocked", "probe"],
        "`filterd test` tells whether an address is dropped, and why",
    ),
    (&["show", "ls", "print", "dump", "entries", "banned"], "`filterd list` shows what is blocked"),
    (
        &["info", "state", "lists", "tables", "interfaces", "health"],
        "`filterd status` tells what filterd does, and names its lists",
    ),
    (
        &["stat", "statistics", "counters", "count", "metrics", "watch", "packets"],
        "`filterd stats` counts packets",
    ),
    (
        &["clear", "reset", "empty", "purge", "clean", "wipe"],
        "`filterd flush` removes everything that was added",
    ),
    (
        &["refresh", "update", "hup", "sighup", "reread", "apply"],
        "`filterd reload` reads configuration and lists again",
    ),
    (&["validate", "verify", "lint", "config", "configtest"], "`filterd check` checks a configuration"),
    (
        &["preview", "compare", "changes", "plan", "dry-run", "dryrun"],
        "`filterd diff` tells what a reload would change, and changes nothing",
    ),
    (
        &["start", "daemon", "up", "serve", "attach", "enable", "launch"],
        "`filterd run --iface eth0`, or with --config, runs in the foreground",
    ),
    (
        &["stop", "kill", "quit", "exit", "shutdown", "down", "end", "disable"],
        "filterd stops on Ctrl-C or SIGTERM: `kill PID`, with the pid that `filterd ping` tells",
    ),
    (
        &["restart", "take-over", "takeover", "upgrade"],
        "`filterd run --take-over …` takes the place of a running filterd without a gap",
    ),
    (
        &["commit", "keep", "try"],
        "`filterd reload --confirm 60s` rolls back by itself, unless `filterd confirm` comes",
    ),
    (
        &["revert", "undo", "abort"],
        "`filterd rollback` takes back what a `filterd reload --confirm` has brought on trial",
    ),
    (
        &["suspend", "bypass", "snooze", "unpause"],
        "`filterd pause 5m` lets everything pass for a while, `filterd resume` ends that",
    ),
    (&["save", "backup"], "`filterd export` writes all that is in force"),
    (
        &["load", "restore", "read"],
        "`filterd import FILE` puts an export back, `filterd add - < FILE` blocks what a file lists",
    ),
    (
        &["unload", "off", "uninstall", "cleanup"],
        "`filterd detach` takes out of the kernel what a filterd left there",
    ),
    (&["version"], "`filterd --version` tells it"),
    (&["man", "usage", "?"], "`filterd help` tells all commands, `filterd help add` one of them"),
];

/// What to type instead of this word.
pub fn instead_of(word: &str, commands: &[&str]) -> Option<String> {
    let small = word.to_ascii_lowercase();
    let shown = printable::word(word);
    if word.trim().is_empty() {
        return Some("the command is empty: `filterd help` tells all there are".to_owned());
    }
    if small != word && commands.contains(&small.as_str()) {
        return Some(format!(
            "there is no command {shown}: commands are written in small letters, `filterd {small}`"
        ));
    }
    if let Some((_, ours)) = OTHERS.iter().find(|(theirs, _)| theirs.contains(&small.as_str())) {
        return Some(format!("there is no command {shown}: {ours}"));
    }
    if word.parse::<IpAddr>().is_ok() {
        return Some(format!(
            "{shown} is an address, not a command: `filterd add {word}` blocks it, `filterd test {word}` tells \
             whether it is dropped"
        ));
    }
    if word.parse::<Span>().is_ok() {
        return Some(format!("{shown} is a target, not a command: `filterd add {word}` blocks it"));
    }
    is_interface(word)
        .then(|| format!("{shown} is an interface, not a command: `filterd --iface {word}` filters it"))
}

/// The same of a word behind `allow`: who only forgot `add` must not be told how to block.
pub fn instead_of_behind_allow(word: &str) -> Option<String> {
    let shown = printable::word(word);
    let target = word.parse::<Span>().is_ok();
    target.then(|| format!("{shown} is a target, not a command: `filterd allow add {word}` lets it pass"))
}

fn is_interface(word: &str) -> bool {
    !word.contains('/') && !word.starts_with('.') && Path::new("/sys/class/net").join(word).exists()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_word_has_one_answer() {
        let mut seen = HashSet::new();
        let all = OTHERS.iter().flat_map(|(theirs, _)| theirs.iter());
        all.for_each(|word| assert!(seen.insert(word), "{word} is there twice"));
    }

    #[test]
    fn other_programs_words_are_told_ours() {
        let told = |word| instead_of(word, &["add", "list"]).unwrap();
        assert_eq!(told("ban"), "there is no command `ban`: `filterd add` blocks");
        assert!(told("UNBAN").contains("`filterd remove`"));
        assert!(told("2001:db8::/32").contains("`filterd add 2001:db8::/32`"));
        assert!(told("203.0.113.7").contains("`filterd test 203.0.113.7`"));
        assert!(told("ADD").contains("small letters, `filterd add`"));
        assert!(told("").contains("`filterd help`"));
        assert!(told("lo").contains("`filterd --iface lo`"));
        assert_eq!(instead_of("explode", &[]), None);
    }
}
