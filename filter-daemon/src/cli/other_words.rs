//! Words of other programs, and the command of filterd that does the same.

use std::net::IpAddr;
use std::path::Path;

use filter_common::target::Span;

use crate::text::printable;

/// Words that are no command of filterd, and what to type instead.
const OTHERS: [(&[&str], &str); 22] = [
    (
        &["block", "ban", "deny", "drop", "insert", "append", "blacklist", "blocklist", "reject", "create"],
        "`filterd add` blocks addresses",
    ),
    (
        &["unblock", "unban", "rm", "delete", "release", "forgive", "unlist", "free"],
        "`filterd remove` unblocks what was added",
    ),
    (
        &["whitelist", "allowlist", "permit", "accept", "exempt", "guard"],
        "`filterd allow add` allows addresses even if they are blocked",
    ),
    (
        &["why", "is", "lookup", "query", "find", "search", "contains", "get", "blocked", "probe"],
        "`filterd test` shows whether an address is dropped, and why",
    ),
    (&["show", "ls", "print", "dump", "entries", "banned"], "`filterd list` shows what is blocked"),
    (
        &["info", "state", "lists", "tables", "interfaces", "health"],
        "`filterd status` shows what filterd does, and `filterd lists` its lists",
    ),
    (
        &["stat", "statistics", "counters", "count", "metrics", "watch", "packets"],
        "`filterd stats` shows how many packets were dropped and passed",
    ),
    (
        &["clear", "reset", "empty", "purge", "clean", "wipe"],
        "`filterd flush` removes all blocking entries that commands added",
    ),
    (
        &["refresh", "update", "hup", "sighup", "reread", "apply"],
        "`filterd reload` applies the changed configuration and lists",
    ),
    (&["validate", "verify", "lint", "config", "configtest"], "`filterd check` checks a configuration"),
    (
        &["preview", "compare", "changes", "plan", "dry-run", "dryrun"],
        "`filterd diff` shows what a reload would change, and changes nothing",
    ),
    (
        &["start", "daemon", "up", "serve", "attach", "enable", "launch"],
        "`sudo systemctl start filterd` starts the service, `sudo filterd run --iface eth0` runs in the foreground",
    ),
    (
        &["stop", "kill", "quit", "exit", "shutdown", "down", "end", "disable"],
        "`sudo systemctl stop filterd` stops the service, Ctrl-C or `kill PID` a filterd in the foreground (`filterd ping` \
         prints the PID)",
    ),
    (
        &["restart", "take-over", "takeover", "upgrade"],
        "`filterd run --take-over …` replaces a running filterd without a gap",
    ),
    (
        &["commit", "keep", "try"],
        "`filterd reload --confirm 60s` rolls back by itself, unless `filterd confirm` comes first",
    ),
    (&["revert", "undo", "abort"], "`filterd rollback` undoes a reload that is on trial"),
    (
        &["suspend", "bypass", "snooze", "unpause"],
        "`filterd pause 5m` lets all packets pass for a while, and `filterd resume` ends that",
    ),
    (&["save", "backup"], "`filterd export` prints all entries in force"),
    (
        &["load", "restore", "read"],
        "`filterd import FILE` restores an export, and `filterd add - < FILE` blocks what a file lists",
    ),
    (
        &["unload", "off", "uninstall", "cleanup"],
        "`filterd detach` removes the filter that a stopped filterd left in the kernel",
    ),
    (&["version"], "`filterd --version` prints it"),
    (&["man", "usage", "?"], "`filterd help` shows all commands, and `filterd help add` explains one"),
];

/// What to type instead of this word.
pub fn instead_of(word: &str, commands: &[&str]) -> Option<String> {
    let small = word.to_ascii_lowercase();
    let shown = printable::word(word);
    if word.trim().is_empty() {
        return Some("the command is empty: `filterd help` shows all commands".to_owned());
    }
    if small != word && commands.contains(&small.as_str()) {
        return Some(format!("there is no command {shown}: commands are in lower case, `filterd {small}`"));
    }
    if let Some((_, ours)) = OTHERS.iter().find(|(theirs, _)| theirs.contains(&small.as_str())) {
        return Some(format!("there is no command {shown}: {ours}"));
    }
    if word.parse::<IpAddr>().is_ok() {
        return Some(format!(
            "{shown} is an address, not a command: `filterd add {word}` blocks it, and `filterd test {word}` shows \
             whether it is dropped"
        ));
    }
    if word.parse::<Span>().is_ok() {
        return Some(format!("{shown} is a target, not a command: `filterd add {word}` blocks it"));
    }
    is_interface(word)
        .then(|| format!("{shown} is an interface, not a command: `filterd --iface {word}` filters it"))
}

/// What to type instead of this word after `allow`. Without `add`, a target must not be answered with how to block it.
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
    fn words_of_other_programs_name_our_command() {
        let told = |word| instead_of(word, &["add", "list"]).unwrap();
        assert_eq!(told("ban"), "there is no command `ban`: `filterd add` blocks addresses");
        assert!(told("UNBAN").contains("`filterd remove`"));
        assert!(told("2001:db8::/32").contains("`filterd add 2001:db8::/32`"));
        assert!(told("203.0.113.7").contains("`filterd test 203.0.113.7`"));
        assert!(told("ADD").contains("lower case, `filterd add`"));
        assert!(told("").contains("`filterd help`"));
        assert!(told("lo").contains("`filterd --iface lo`"));
        assert_eq!(instead_of("explode", &[]), None);
    }
}
