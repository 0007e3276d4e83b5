//! A target as typed, and what else the word may be.

use std::fs;
use std::path::Path;

use filter_common::target::Span;

use crate::control::wire::words;
use crate::text::printable;

/// The maximum number of targets in a suggested command, so that it stays readable.
const MOST_REPEATED: usize = 5;

/// Parses the target or targets in a word of `filterd VERB`.
pub fn span(word: &str, verb: &str) -> Result<Span, String> {
    words::span(word).map_err(|error| {
        file(word, verb).or_else(|| several(word, verb)).or_else(|| other(word)).unwrap_or(error)
    })
}

/// Explains a word that contains several targets, or more than a target.
fn several(word: &str, verb: &str) -> Option<String> {
    let parts: Vec<_> = word.split([' ', '\t', '\n', ',', ';']).filter(|part| !part.is_empty()).collect();
    let targets = parts.iter().filter(|part| words::span(part).is_ok()).count();
    let shown = printable::word(word);
    match (targets, parts.len()) {
        (0, _) | (_, 0 | 1) => None,
        (targets, all) if targets == all => {
            let few =
                if all <= MOST_REPEATED { parts.join(" ") } else { format!("{} {} …", parts[0], parts[1]) };
            Some(format!(
                "{shown} contains {all} targets: write them as separate words, as in `filterd {verb} {few}`"
            ))
        }
        _ => Some(format!("{shown} contains more than a target: write each target as a separate word")),
    }
}

/// Explains a word that names something with addresses.
fn other(word: &str) -> Option<String> {
    let shown = printable::word(word);
    let number = word.strip_prefix("AS").or_else(|| word.strip_prefix("as")).unwrap_or_default();
    if word.starts_with("http://") || word.starts_with("https://") {
        return Some(format!(
            "{shown} is a URL: to follow it, define a list with `url:`; to block its entries once: curl -fsS URL | filterd add -"
        ));
    }
    (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then(|| {
        format!("{shown} is an AS number, not a target: define a list with `asn:`, or look up its prefixes")
    })
}

/// Explains a word that is a file, or looks like the path of one.
pub fn file(word: &str, verb: &str) -> Option<String> {
    let shown = printable::word(word);
    match fs::metadata(Path::new(word)) {
        Ok(found) if found.is_dir() => Some(format!("{shown} is a directory, not a target")),
        Ok(_) => Some(format!("{shown} is a file, not a target: {}", reading(word, verb))),
        Err(_) if is_path(word) => Some(format!("{shown} is neither a target nor a file")),
        Err(_) => None,
    }
}

fn reading(word: &str, verb: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "/._-+".contains(character);
    let name = if word.chars().all(is_plain) { word } else { "FILE" };
    format!("`filterd {verb} - < {name}` reads it")
}

/// Recognizes `/etc/x`, `./x`, `~/x` and `lists/drop.txt`. `/24` is not a path, but a prefix without its
/// address.
fn is_path(word: &str) -> bool {
    let rooted = ["/", "./", "../", "~/"].into_iter().any(|start| word.starts_with(start));
    let last = word.rsplit('/').next().unwrap_or(word);
    let is_text = last.ends_with(".txt") || last.ends_with(".list") || last.ends_with("set");
    let is_length = word.len() > 1 && last.bytes().all(|byte| byte.is_ascii_digit());
    (rooted && !is_length) || (is_text && !word.contains(':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_name_gets_the_reading_command() {
        let place = tempfile::tempdir().unwrap();
        let list = place.path().join("million.txt");
        fs::write(&list, "192.0.2.1\n").unwrap();
        let list = list.to_str().unwrap();
        assert!(span(list, "add").unwrap_err().contains(&format!("`filterd add - < {list}`")));
        assert!(span(list, "test").unwrap_err().contains(&format!("`filterd test - < {list}`")));
        let folder = place.path().to_str().unwrap();
        assert!(span(folder, "add").unwrap_err().ends_with("is a directory, not a target"));
        assert!(span(&format!("{list} x"), "add").unwrap_err().contains("neither a target nor a file"));
    }

    #[test]
    fn missing_file_is_reported_as_bad_target() {
        for word in ["/24", "203.0.113.7/33", "example.org", "", "10.0.0.1/8", "2001:db8::/129"] {
            assert_eq!(span(word, "add").err(), words::span(word).err(), "{word}");
        }
        let apart = "write them as separate words, as in `filterd remove 192.0.2.1 192.0.2.2`";
        assert!(span("192.0.2.1,192.0.2.2", "remove").unwrap_err().contains(apart));
        assert!(span("192.0.2.1 evil", "add").unwrap_err().contains("contains more than a target"));
        assert!(span("AS64500", "add").unwrap_err().contains("look up its prefixes"));
        assert!(span("https://example.org/list.txt", "add").unwrap_err().contains("curl"));
        assert!(span("/nowhere/x", "add").unwrap_err().contains("neither a target nor a file"));
        assert!(span("lists/nowhere.txt", "add").unwrap_err().contains("neither a target nor a file"));
    }
}
