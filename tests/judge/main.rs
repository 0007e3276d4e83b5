//! How the judge reads words that the daemon changes meanwhile, in the object that it embeds. Needs no root.
//!
//! Each word is read by one load of 64 bits, on every way through the program, and what is loaded is kept: no bucket is
//! read in two parts or twice. First homes come before second ones, then the stash's hot word, then its ways:
//! entries that move on at once rely on that (docs/internals/moving.md). What blocks is read before
//! what allows, so that whoever is allowed before he is blocked is never dropped. And its loops are such as
//! the oldest kernel's verifier takes.

mod instruction;
mod loops;
mod walk;

use filterd::kernel::broker::{JUDGE, JUDGE_TC};

use instruction::Instruction;

#[test]
fn the_judge_loads_words_as_it_must() {
    expect_none(Instruction::judging, walk::complaints);
}

#[test]
fn judge_has_no_loop_linux_6_1_refuses() {
    expect_none(Instruction::all, |functions| {
        functions.iter().flat_map(|function| loops::complaints(function)).collect()
    });
}

fn expect_none(
    of: fn(&[u8]) -> anyhow::Result<Vec<Vec<Instruction>>>,
    look: fn(&[Vec<Instruction>]) -> Vec<String>,
) {
    for (object, name) in [(&JUDGE, "XDP"), (&JUDGE_TC, "TC")] {
        let program = of(object).expect("the compiler made an object with a judge");
        let complaints = look(&program);
        assert!(complaints.is_empty(), "{name}: {}", complaints.join("\n"));
    }
}
