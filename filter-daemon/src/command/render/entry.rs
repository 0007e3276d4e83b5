//! Formats an entry as a line of `filterd list`.

use super::moment::{self, Clock};
use crate::config::ListName;
use crate::control::wire::Entry;

/// Tells the user where to find the names of lists.
pub const ALL_LISTS: &str = "`filterd status` names all lists";

/// Formats the target, followed by the details of its entry as a comment.
pub fn line(entry: &Entry, clock: &Clock) -> String {
    let Entry { target, list, until, note, ports, .. } = entry;
    let (since, until) = (clock.of(entry), clock.until(*until));
    let note = note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
    let ports = ports.as_ref().map(|ports| format!(", {ports}")).unwrap_or_default();
    let direction = direction(entry).map(|words| format!(", {words}")).unwrap_or_default();
    format!("{target:<20} # {list}, {since}, {until}{ports}{direction}{note}")
}

/// The packets that an entry blocks, if these are not only the packets from its target.
pub fn direction(entry: &Entry) -> Option<&'static str> {
    entry.direction.as_deref().map(told_direction)
}

/// The words for a direction that is not the usual one.
pub fn told_direction(direction: &str) -> &'static str {
    if direction == "both" { "packets from and to it" } else { "packets to it" }
}

/// Returns whether `filterd list` wrote this line.
pub fn is_line(line: &[u8]) -> bool {
    let Some(comment) = line.iter().position(|byte| *byte == b'#') else { return false };
    let comment = String::from_utf8_lossy(&line[comment..]);
    let Some((list, times)) = comment.strip_prefix("# ").and_then(|rest| rest.split_once(", ")) else {
        return false;
    };
    let is_time = times.starts_with(moment::SINCE) || times.starts_with(moment::READ);
    let has_end = [moment::PERMANENT, moment::EXPIRES].iter().any(|end| times.contains(&format!(", {end}")));
    list.parse::<ListName>().is_ok() && is_time && has_end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_a_target_and_a_comment() {
        let now = 1_795_296_480;
        let entry = Entry {
            target: "203.0.113.7".into(),
            list: "ssh".into(),
            since: now - 60,
            until: Some(now + 720),
            note: Some("x".into()),
            by: Some("root (filterd add)".into()),
            ..Entry::default()
        };
        let clock = Clock::standing(now);
        let shown = line(&entry, &clock);
        assert_eq!(shown, "203.0.113.7          # ssh, since 1 min ago, expires 21:40 (in 12 min): x");
        assert!(is_line(shown.as_bytes()));
        let of_file =
            line(&Entry { until: None, origin: Some("file".into()), or_before: true, ..entry }, &clock);
        assert_eq!(of_file, "203.0.113.7          # ssh, since 1 min ago or before, permanent: x");
        assert!(is_line(of_file.as_bytes()));
    }

    #[test]
    fn foreign_comment_is_not_parsed_as_entry() {
        for line in ["203.0.113.7", "203.0.113.7 # ssh", "203.0.113.7 # ssh, since Monday", "# a, permanent"]
        {
            assert!(!is_line(line.as_bytes()), "{line}");
        }
    }
}
