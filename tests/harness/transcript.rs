//! Compares the output of a command with the output that a page shows. `…` stands for what varies: inside a line for any
//! text, as a line of its own for any lines.

const ANYTHING: char = '…';

/// Whether a page that shows `shown` is right about a command that wrote `written`. Blanks at the end of lines, and blank
/// lines at the end, do not count.
pub fn matches(shown: &str, written: &str) -> bool {
    let [shown, written] = [shown, written].map(lines);
    lines_match(&shown, &written)
}

/// The same of a command that may write more than the page shows.
pub fn begins(shown: &str, written: &str) -> bool {
    let shown = shown.trim_end();
    shown.is_empty() || matches(&format!("{shown}\n{ANYTHING}"), written)
}

/// The first line that a page shows and that matches none that was written.
pub fn unmatched_line<'a>(shown: &'a str, written: &str) -> Option<&'a str> {
    let (shown, written) = (lines(shown), lines(written));
    let is_unmatched =
        |shown: &&str| !is_anything(shown) && !written.iter().any(|line| line_matches(shown, line));
    shown.into_iter().find(is_unmatched)
}

fn lines(text: &str) -> Vec<&str> {
    text.trim_end().lines().map(str::trim_end).collect()
}

fn lines_match(shown: &[&str], written: &[&str]) -> bool {
    let Some((first, shown)) = shown.split_first() else { return written.is_empty() };
    if is_anything(first) {
        return (0..=written.len()).any(|skipped| lines_match(shown, &written[skipped..]));
    }
    let Some((line, written)) = written.split_first() else { return false };
    line_matches(first, line) && lines_match(shown, written)
}

fn is_anything(line: &str) -> bool {
    line.trim().chars().eq([ANYTHING])
}

fn line_matches(shown: &str, written: &str) -> bool {
    let Some((start, shown)) = shown.split_once(ANYTHING) else { return shown == written };
    let (middle, end) = shown.rsplit_once(ANYTHING).unwrap_or(("", shown));
    let rest = written.strip_prefix(start).and_then(|rest| rest.strip_suffix(end));
    middle.split(ANYTHING).fold(rest, |rest, part| after(rest?, part)).is_some()
}

fn after<'a>(text: &'a str, part: &str) -> Option<&'a str> {
    text.find(part).map(|at| &text[at + part.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_output_matches() {
        assert!(matches("a\n b\n", "a\n b\n"));
        assert!(matches("", ""));
        assert!(!matches("a\nb\n", "a\nc\n"));
        assert!(!matches("a\n", "a\nb\n"));
        assert!(!matches("a\nb\n", "a\n"));
        assert!(!matches("a\n", " a\n"));
        assert!(!matches("", "a\n"));
    }

    #[test]
    fn blanks_at_ends_do_not_count() {
        assert!(matches("a  \nb\n\n\n", "a\nb   \n"));
        assert!(!matches("a\n\nb\n", "a\nb\n"));
    }

    #[test]
    fn ellipsis_in_a_line_is_any_text() {
        for (shown, written, is_match) in [
            ("in … s", "in 0.5 s", true),
            ("in … s", "in  s", true),
            ("in … s", "in 5 ms", false),
            ("…", "anything", true),
            ("a … b … c", "a 1 b 2 c", true),
            ("a … b … c", "a 1 c 2 b", false),
            ("a…b…b", "ab", false),
            ("a…a", "a", false),
            ("… INFO ready", "2026-11-29 INFO ready", true),
            ("… INFO ready", "2026-11-29 WARN ready", false),
            ("pid …", "pid 12", true),
            ("é…é", "éxé", true),
        ] {
            assert_eq!(line_matches(shown, written), is_match, "{shown} / {written}");
        }
    }

    #[test]
    fn ellipsis_line_is_any_lines() {
        for (shown, written, is_match) in [
            ("a\n…\nd\n", "a\nb\nc\nd\n", true),
            ("a\n…\nd\n", "a\nd\n", true),
            ("a\n…\nd\n", "a\nb\n", false),
            ("…\nb\n…\nd\n", "a\nb\nc\nb\nd\n", true),
            ("a\n…\n", "a\n", true),
            ("  …\nb\n", "x\ny\nb\n", true),
        ] {
            assert_eq!(matches(shown, written), is_match, "{shown} / {written}");
        }
    }

    #[test]
    fn unmatched_line_is_the_first_that_differs() {
        assert_eq!(unmatched_line("a\nb … d\n…\nx\n", "a\nb c d\ny\n"), Some("x"));
        assert_eq!(unmatched_line("a\n…\n", "a\nb\n"), None);
        assert_eq!(unmatched_line("…\n", ""), None);
    }

    #[test]
    fn longer_output_begins_as_shown() {
        assert!(begins("a\nb … c\n\n", "a\nb 1 c\nd\n"));
        assert!(begins("a\n", "a\n"));
        assert!(begins("", "a\n"));
        assert!(!begins("a\nb\n", "a\nc\nb\n"));
    }
}
