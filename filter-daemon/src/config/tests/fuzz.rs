//! Tests that no text makes the configuration panic, and that every error is reported with its position.

use std::path::Path;

use proptest::prelude::*;

use super::{REFERENCE, TYPICAL, parse};

/// A configuration with every key and most of YAML's notations.
const RICH: &str = "---
interfaces: [eth0, &x 'eth1']
mode: \"auto\"
enforce: true # why
block:
  - 10.0.0.0/8
  - \"fe80::\"
  - ::1
  - 10.0.0.1 - 10.0.0.9
  - !t {a: [b, c]}
allow: [10.1.0.0/16]
lists:
- {name: drop, path: *x}
- {name: office, path: y, allow: true}
- name: é
  path: |
    a
    b
";

const LETTERS: &str = "[]{}:,-?&*!|>%@~#'\"\\ \n\t\r\0\x1b\u{85}\u{2028}\u{feff}éx1";

const WORDS: [&str; 14] = [
    ": ",
    "- ",
    "? ",
    " #",
    "&x ",
    "*x",
    "!t ",
    "!!int ",
    "|\n",
    "---\n",
    "...\n",
    "fe80::",
    "10.0.0.1/8",
    "<<: ",
];

fn mutated() -> impl Strategy<Value = String> {
    let letters: Vec<char> = LETTERS.chars().collect();
    let letter = prop::sample::select(letters).prop_map(String::from);
    let piece = prop_oneof![letter, prop::sample::select(&WORDS[..]).prop_map(String::from)];
    let change = (any::<prop::sample::Index>(), 0usize..6, piece);
    let base = prop::sample::select(vec![REFERENCE, TYPICAL, RICH, ""]);
    (base, prop::collection::vec(change, 0..12)).prop_map(|(base, changes)| {
        let mut text: Vec<char> = base.chars().collect();
        for (index, removed, piece) in changes {
            let at = index.index(text.len() + 1);
            let end = (at + removed).min(text.len());
            text.splice(at..end, piece.chars());
        }
        text.into_iter().collect()
    })
}

proptest! {
    #[test]
    fn mutations_never_panic_and_errors_have_positions(text in mutated()) {
        if let Err(error) = parse(Path::new("f.yaml"), text.clone().into_bytes()) {
            let told = error.to_string();
            prop_assert!(told.starts_with("f.yaml:"), "{:?} is told as {}", text, told);
            prop_assert!(!told.contains('\x1b'), "an escape reaches the terminal");
            for line in told.lines().filter(|line| line.starts_with("f.yaml:")) {
                let number: usize = line.split(':').nth(1).unwrap().parse().unwrap();
                prop_assert!(number <= text.matches('\n').count() + 1);
            }
        }
    }

    #[test]
    fn no_bytes_make_it_panic(bytes: Vec<u8>) {
        if let Err(error) = parse(Path::new("f.yaml"), bytes) {
            prop_assert!(!error.to_string().is_empty());
        }
    }
}
