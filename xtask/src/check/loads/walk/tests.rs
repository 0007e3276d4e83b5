//! Programs of a few instructions, right and wrong.

use super::*;

/// Looks a word up at the index in this register, and goes on to the load even if there is none.
fn lookup(index: usize) -> Vec<Instruction> {
    vec![
        Instruction { code: 0x63, target: 10, source: index, offset: -4, ..Instruction::default() },
        Instruction { code: 0xBF, target: 2, source: 10, ..Instruction::default() },
        Instruction { code: 0x07, target: 2, immediate: -4, ..Instruction::default() },
        Instruction { code: 0x18, target: 1, symbol: Some("ADDRESSES".to_owned()), ..Instruction::default() },
        Instruction::default(),
        Instruction { code: 0x85, immediate: 1, ..Instruction::default() },
    ]
}

fn load(code: u8) -> Vec<Instruction> {
    vec![Instruction { code, target: 7, source: 0, ..Instruction::default() }]
}

/// The register 8 holds the index of a first home, 9 that of a second one.
fn program(parts: &[Vec<Instruction>]) -> Vec<Instruction> {
    let (low, high) = (GOLDEN_RATIO as u32 as i32, (GOLDEN_RATIO >> 32) as u32 as i32);
    let beginning = vec![
        Instruction { code: 0x18, target: 9, immediate: low, ..Instruction::default() },
        Instruction { immediate: high, ..Instruction::default() },
    ];
    let end = vec![Instruction { code: 0x95, ..Instruction::default() }];
    [&[beginning][..], parts, &[end]].concat().concat()
}

/// Without those about loads that so short a program does not have.
fn about(parts: &[Vec<Instruction>]) -> Vec<String> {
    let complaints = complaints(&program(parts));
    complaints.into_iter().filter(|complaint| !complaint.ends_with("never loaded")).collect()
}

#[test]
fn one_load_after_each_lookup_is_as_it_must_be() {
    assert!(about(&[lookup(8), load(0x79), lookup(9), load(0x79)]).is_empty());
}

#[test]
fn halves_and_second_loads_are_told() {
    for wrong in [load(0x61), load(0x71), [load(0x79), load(0x79)].concat()] {
        assert_eq!(about(&[lookup(8), wrong]).len(), 1);
    }
}

#[test]
fn what_is_atomic_is_told() {
    assert_eq!(about(&[lookup(8), vec![Instruction { code: 0xDB, ..Instruction::default() }]]).len(), 1);
}

#[test]
fn the_second_home_before_the_first_is_told() {
    let complaints = about(&[lookup(9), load(0x79), lookup(8), load(0x79)]);
    assert_eq!(complaints.len(), 2, "{complaints:?}");
    assert!(complaints.iter().all(|complaint| complaint.contains("is loaded after")));
}

#[test]
fn a_pointer_kept_for_later_is_loaded_when_it_is_loaded() {
    let keep = vec![Instruction { code: 0xBF, target: 6, source: 0, ..Instruction::default() }];
    let late = vec![Instruction { code: 0x79, target: 7, source: 6, ..Instruction::default() }];
    assert_eq!(about(&[lookup(8), keep, lookup(9), load(0x79), late]).len(), 2);
}

#[test]
fn a_program_without_loads_proves_nothing() {
    assert_eq!(complaints(&program(&[])).len(), 9);
}
