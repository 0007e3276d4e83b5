//! What a kernel says when something is wrong with it.

/// Each of them fails a boot, whatever the tests say.
const TROUBLES: [&str; 10] = [
    "Kernel panic",
    "Oops",
    "BUG:",
    "WARNING: CPU",
    "general protection fault",
    "soft lockup",
    "hard LOCKUP",
    "detected stall",
    "blocked for more than",
    "invoked oom-killer",
];

/// Enough to see an oops whole.
const LAST_LINES: usize = 60;

/// Its lines that tell of trouble.
pub fn troubles(log: &str) -> impl Iterator<Item = &str> {
    log.lines().filter(|line| TROUBLES.iter().any(|trouble| line.contains(trouble))).map(str::trim)
}

/// Its end.
pub fn tail(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trouble_is_found_and_nothing_else() {
        let log = "[    0.1] Linux version 6.1\n[    0.2] ..MP-BIOS bug: 8254 timer not connected to IO-APIC\r\n\
                   [    9.0] watchdog: BUG: soft lockup - CPU#0 stuck for 22s!\r\n[    9.1] Kernel panic - not syncing";
        let found: Vec<_> = troubles(log).collect();
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].ends_with("22s!"), "{found:?}");
    }

    #[test]
    fn tail_of_short_log_is_complete() {
        assert_eq!(tail("a\nb"), "a\nb");
    }
}
