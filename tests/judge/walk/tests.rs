//! Programs of a few instructions, right and wrong.

use super::*;

/// Leaves a pointer to the map's words in the register 6.
fn words() -> Vec<Instruction> {
    vec![
        Instruction { code: 0x18, target: 6, symbol: Some("ADDRESSES".to_owned()), ..Instruction::default() },
        Instruction::default(),
    ]
}

/// Points the register 0 to the bucket whose number this register holds.
fn point(number: usize) -> Vec<Instruction> {
    vec![
        Instruction { code: 0xBF, target: 0, source: 6, ..Instruction::default() },
        Instruction { code: 0x0F, target: 0, source: number, ..Instruction::default() },
        Instruction { code: 0x07, target: 0, immediate: STASH as i32, ..Instruction::default() },
    ]
}

fn load(code: u8) -> Vec<Instruction> {
    vec![Instruction { code, target: 7, source: 0, ..Instruction::default() }]
}

/// The register 8 holds the index of a first home, 9 that of a second one.
fn program(parts: &[Vec<Instruction>]) -> Vec<Instruction> {
    let multiply =
        Instruction { code: 0x24, target: 9, immediate: MULTIPLIERS[2] as i32, ..Instruction::default() };
    let end = vec![Instruction { code: 0x95, ..Instruction::default() }];
    [&[vec![multiply], words()][..], parts, &[end]].concat().concat()
}

/// Without those about loads that so short a program does not have.
fn about(parts: &[Vec<Instruction>]) -> Vec<String> {
    let complaints = complaints(&[program(parts)]);
    complaints.into_iter().filter(|complaint| !complaint.ends_with("never loaded")).collect()
}

/// The multiplications are found by these numbers: both are what compilers have been seen to write.
#[test]
fn the_multipliers_are_those_of_the_golden_ratio() {
    const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
    assert_eq!(MULTIPLIERS, [GOLDEN as i64, (GOLDEN << 7) as i64, 0x9E37_79B9_u32 as i32 as i64]);
}

#[test]
fn one_load_per_word_is_accepted() {
    assert!(about(&[point(8), load(0x79), point(9), load(0x79)]).is_empty());
}

#[test]
fn partial_and_repeated_loads_are_reported() {
    for wrong in [load(0x61), load(0x71), [load(0x79), load(0x79)].concat()] {
        assert_eq!(about(&[point(8), wrong]).len(), 1);
    }
}

#[test]
fn load_across_two_words_is_reported() {
    let askew = vec![Instruction { code: 0x79, target: 7, offset: 4, ..Instruction::default() }];
    assert_eq!(about(&[point(8), askew]).len(), 1);
}

#[test]
fn atomic_operations_are_reported() {
    assert_eq!(about(&[point(8), vec![Instruction { code: 0xDB, ..Instruction::default() }]]).len(), 1);
}

#[test]
fn second_home_read_first_is_reported() {
    let complaints = about(&[point(9), load(0x79), point(8), load(0x79)]);
    assert_eq!(complaints.len(), 2, "{complaints:?}");
    assert!(complaints.iter().all(|complaint| complaint.contains("is loaded after")));
}

#[test]
fn hot_word_read_first_is_reported() {
    let hot_word = vec![Instruction { code: 0x79, target: 7, source: 6, ..Instruction::default() }];
    let both = [point(8), load(0x79), point(9), load(0x79)].concat();
    assert!(about(&[both.clone(), hot_word.clone()]).is_empty());
    assert_eq!(about(&[hot_word, both]).len(), 1);
}

#[test]
fn a_copied_pointer_points_to_the_same_word() {
    let keep = vec![Instruction { code: 0xBF, target: 5, source: 0, ..Instruction::default() }];
    let late = vec![Instruction { code: 0x79, target: 7, source: 5, ..Instruction::default() }];
    assert_eq!(about(&[point(8), keep, load(0x79), late]).len(), 1);
}

#[test]
fn a_program_without_loads_proves_nothing() {
    assert_eq!(complaints(&[program(&[])]).len(), 31);
}

#[test]
fn allow_read_before_block_is_reported() {
    let overlap = |next: Vec<Instruction>| {
        let symbol = Some(OVERLAP.to_owned());
        let look = Instruction { code: 0x18, target: 0, symbol, ..Instruction::default() };
        [vec![look, Instruction::default()], load(0x79), next].concat()
    };
    let block = || [point(8), load(0x79)].concat();
    assert_eq!(about(&[overlap(block())]).len(), 1);
    assert!(about(&[block(), overlap(Vec::new())]).is_empty());
}

#[test]
fn use_before_a_hit_is_reported() {
    let call = || {
        let symbol = Some(format!("{FOLLOWING}4"));
        vec![Instruction { code: 0x85, source: 1, symbol, ..Instruction::default() }]
    };
    let block = || [point(8), load(0x79)].concat();
    assert_eq!(about(&[call(), block()]).len(), 1);
    assert!(about(&[block(), call()]).is_empty());
}
