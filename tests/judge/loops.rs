//! How Linux 6.1 looks at a program's loops: it goes every way once, straight on before aside, and refuses one that comes
//! back to where it is going already without a jump ("back-edge", `check_cfg` of its verifier). Later kernels take it.
//!
//! How a compiler lays a loop out is its own affair and changes with its version, so this is told before a guest boots.

use super::Instruction;

/// How far an instruction has been looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    Not,
    /// What follows it is being looked at.
    Going,
    Done,
}

/// Where an instruction leads to, and whether by a jump.
type Way = (usize, bool);

/// One line for each step that comes back to a loop without a jump, and for what is never reached.
pub fn complaints(program: &[Instruction]) -> Vec<String> {
    let mut seen = vec![Seen::Not; program.len()];
    let mut complaints = Vec::new();
    // Each instruction that the way leads over, with where it still leads to.
    let mut way = vec![(0, ways(program, 0))];
    while let Some((at, next)) = way.last_mut() {
        let at = *at;
        seen[at] = Seen::Going;
        let Some((to, by_jump)) = next.pop() else {
            seen[at] = Seen::Done;
            way.pop();
            continue;
        };
        match seen.get(to) {
            None => complaints.push(format!("instruction {at}: it leads out of the program")),
            Some(Seen::Not) => way.push((to, ways(program, to))),
            Some(Seen::Going) if !by_jump => {
                complaints.push(format!("instruction {at}: it comes back to {to} without a jump"));
            }
            Some(Seen::Going | Seen::Done) => {}
        }
    }
    let lost = seen.iter().enumerate().filter(|(_, seen)| **seen == Seen::Not);
    complaints.extend(lost.map(|(at, _)| format!("instruction {at}: it is never reached")));
    complaints
}

/// The last one first: it is taken from the end.
fn ways(program: &[Instruction], at: usize) -> Vec<Way> {
    const END: u8 = 0x95;
    const CALL: u8 = 0x85;
    const LONG_JUMP: u8 = 0x06;
    let instruction = &program[at];
    let aside = |distance: i32| (at.wrapping_add_signed(distance as isize + 1), true);
    let offset = instruction.offset.into();
    match (instruction.code, instruction.code & 7) {
        (END, _) => Vec::new(),
        (LONG_JUMP, _) => vec![aside(instruction.immediate)],
        (0x05, _) => vec![aside(offset)],
        (CALL, _) | (_, 0..=4 | 7) => vec![(at + 1, false)],
        _ => vec![aside(offset), (at + 1, true)],
    }
}

#[cfg(test)]
mod tests;
