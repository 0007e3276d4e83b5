//! Frames by which `cargo xtask prove` has shown that a judge is wrong, a line each: those of mutants, and what else it finds.
//! The judge must be right about all of them, in the kernel, too.

use filter_common::reason::Reason;
use serde_json::Value;

use crate::judges::agree_on_piece;

/// In the program, for a guest has no tree of sources.
const FRAMES: &str = include_str!("counterexamples.jsonl");

#[test]
fn counterexamples_are_judged_correctly() {
    assert_ne!(FRAMES, "", "those of mutants are always there");
    for line in FRAMES.lines() {
        replay(&serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}")));
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

/// Those that these digits are.
pub fn bytes(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks(2).map(|two| str::from_utf8(two).expect("ASCII"));
    digits.map(|two| u8::from_str_radix(two, 16).expect("hexadecimal digits")).collect()
}
