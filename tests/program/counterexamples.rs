//! Frames by which `cargo xtask prove` has shown that a judge is wrong, each in a file: those of mutants, and what else it finds.
//! The judge must be right about all of them, in the kernel, too.

use std::fs;
use std::path::Path;

use filter_common::reason::Reason;
use serde_json::Value;

use crate::judges::agree_on_piece;

#[test]
fn what_shows_a_judge_wrong_is_judged_rightly() {
    let files = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("program/counterexamples"));
    let files = files.expect("they lie beside this file").map(|file| file.expect("it can be read").path());
    let files: Vec<_> =
        files.filter(|file| file.extension().is_some_and(|ending| ending == "json")).collect();
    assert!(!files.is_empty(), "those of mutants are always there");
    for file in files {
        let text = fs::read_to_string(&file).expect("it can be read");
        replay(&serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display())));
    }
}

/// The object that tests/proof/counterexample.py writes.
fn replay(example: &Value) {
    let text = |key: &str| example[key].as_str().unwrap_or_else(|| panic!("{key} of {example}"));
    let blocked = example["block"].as_array().expect("targets").iter();
    let blocked: Vec<&str> = blocked.map(|target| target.as_str().expect("a target")).collect();
    let linear = example["linear"].as_u64().expect("a number of bytes") as usize;
    let reason = Reason::ALL.into_iter().find(|reason| reason.name() == text("expected"));
    let expected = reason.expect("a reason by its name");
    agree_on_piece(&blocked, &bytes(text("frame")), linear, expected, text("of"));
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks(2).map(|two| str::from_utf8(two).expect("ASCII"));
    digits.map(|two| u8::from_str_radix(two, 16).expect("hexadecimal digits")).collect()
}
