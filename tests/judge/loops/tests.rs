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
fn a_loop_that_ends_with_a_jump_back_is_taken() {
    assert_eq!(complaints(&[ADD, ADD, jump_if(-2), END]), [""; 0]);
    assert_eq!(complaints(&[ADD, jump_if(2), ADD, jump(-3), END]), [""; 0]);
}

#[test]
fn a_loop_that_is_entered_in_its_middle_and_falls_into_it_from_above_is_refused() {
    let entered = [jump(1), ADD, ADD, jump_if(-3), END];
    assert_eq!(complaints(&entered), ["instruction 1: it comes back to 2 without a jump"]);
    let with_a_jump = [jump(2), ADD, jump(0), ADD, jump_if(-4), END];
    assert_eq!(complaints(&with_a_jump), [""; 0]);
}

#[test]
fn what_leads_nowhere_and_what_nothing_leads_to_are_told() {
    assert_eq!(complaints(&[ADD]), ["instruction 0: it leads out of the program"]);
    assert_eq!(
        complaints(&[END, ADD, END]),
        ["instruction 1: it is never reached", "instruction 2: it is never reached"]
    );
}
