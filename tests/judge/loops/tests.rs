//! Loops as compilers lay them out.

use super::*;

const ADD: Instruction =
    Instruction { code: 0x07, target: 1, source: 0, offset: 0, immediate: 1, symbol: None, follows: false };
const END: Instruction = Instruction { code: 0x95, ..ADD };

fn jump(offset: i16) -> Instruction {
    Instruction { code: 0x05, offset, ..ADD }
}

fn jump_if(offset: i16) -> Instruction {
    Instruction { code: 0x25, offset, ..ADD }
}

#[test]
fn loop_with_backward_jump_is_accepted() {
    assert_eq!(complaints(&[ADD, ADD, jump_if(-2), END]), [""; 0]);
    assert_eq!(complaints(&[ADD, jump_if(2), ADD, jump(-3), END]), [""; 0]);
}

#[test]
fn loop_entered_in_the_middle_is_refused() {
    let entered = [jump(1), ADD, ADD, jump_if(-3), END];
    assert_eq!(complaints(&entered), ["instruction 1: it comes back to 2 without a jump"]);
    let with_a_jump = [jump(2), ADD, jump(0), ADD, jump_if(-4), END];
    assert_eq!(complaints(&with_a_jump), [""; 0]);
}

#[test]
fn dead_ends_and_unreachable_code_are_reported() {
    assert_eq!(complaints(&[ADD]), ["instruction 0: it leads out of the program"]);
    assert_eq!(
        complaints(&[END, ADD, END]),
        ["instruction 1: it is never reached", "instruction 2: it is never reached"]
    );
}
