//! How many instructions one packet takes: the programs as the kernel has rewritten them, walked step by step.
//!
//! Whatever a program reads from a table is zero here, so the packet is a miss; its settings are what they are. Functions of
//! a program's own are walked as well; a helper that is not written in line has instructions that nobody sees: then there is
//! no answer.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

/// One instruction.
#[derive(Clone, Copy, Debug)]
struct Instruction {
    code: u8,
    target: usize,
    source: usize,
    offset: i16,
    immediate: i32,
}

/// How a program ends.
enum Ending {
    Exit,
    TailCall,
    Helper,
}

/// A processor of BPF, and all memory there is.
struct Walk<'a> {
    registers: [u64; 11],
    stack: [u8; FUNCTION_STACK * MOST_CALLS],
    /// For each function that has called another: where it goes on, and what it keeps meanwhile.
    callers: Vec<(usize, [u64; 5])>,
    frame: &'a [u8],
    /// What a program reads of its settings, by map.
    settings: HashMap<u64, Vec<u8>>,
}

/// Where things lie. A pointer that has left its place points to zeros.
const CONTEXT: u64 = 1 << 40;
const FRAME: u64 = 2 << 40;
const STACK: u64 = 3 << 40;
const MAPS: u64 = 4 << 40;
/// A function's part of the stack, and how many functions deep the kernel lets a program go.
const FUNCTION_STACK: usize = 512;
const MOST_CALLS: usize = 8;
/// So far lie maps from each other.
const MAP: u64 = 1 << 32;

/// Instructions that the programs of these numbers take for `frame`, one after the other.
pub fn count(programs: &[u32], frame: &[u8]) -> Result<Option<usize>> {
    let mut total = 0;
    for (number, &program) in programs.iter().enumerate() {
        let (steps, ending) = Walk::new(frame).run(&dump(program)?)?;
        total += steps;
        match ending {
            Ending::Helper => return Ok(None),
            Ending::Exit => ensure!(number + 1 == programs.len(), "program {program} does not jump on"),
            Ending::TailCall => ensure!(number + 1 < programs.len(), "program {program} jumps on"),
        }
    }
    Ok(Some(total))
}

impl<'a> Walk<'a> {
    fn new(frame: &'a [u8]) -> Self {
        let mut registers = [0; 11];
        registers[1] = CONTEXT;
        let stack = [0; FUNCTION_STACK * MOST_CALLS];
        registers[10] = STACK + stack.len() as u64;
        Self { registers, stack, callers: Vec::new(), frame, settings: HashMap::new() }
    }

    fn run(&mut self, program: &[Instruction]) -> Result<(usize, Ending)> {
        const ENDLESS: usize = 1_000_000;
        const TAIL_CALL: i32 = 12;
        const OWN_FUNCTION: usize = 1;
        let mut at = 0;
        for step in 1..ENDLESS {
            let instruction = *program.get(at).context("it runs beyond its end")?;
            at += 1;
            match instruction.code {
                // Of one of its own the number says how far off it is.
                0x85 if instruction.source == OWN_FUNCTION => {
                    self.enter(at);
                    at = at.wrapping_add_signed(instruction.offset.into());
                }
                0x85 if instruction.immediate == TAIL_CALL => return Ok((step, Ending::TailCall)),
                0x85 => return Ok((step, Ending::Helper)),
                0x95 => match self.leave() {
                    Some(caller) => at = caller,
                    None => return Ok((step, Ending::Exit)),
                },
                0x18 => {
                    let second = program.get(at).context("it runs beyond its end")?;
                    self.registers[instruction.target] = self.constant(&instruction, second.immediate)?;
                    at += 1;
                }
                code => match code & 7 {
                    1 => self.registers[instruction.target] = self.read(&instruction)?,
                    2 | 3 => self.write(&instruction)?,
                    4 | 7 => self.registers[instruction.target] = self.calculate(&instruction)?,
                    _ => at = at.wrapping_add_signed(self.jump(&instruction)?),
                },
            }
        }
        bail!("it does not come to an end")
    }

    /// A function of the program's own is called, behind which it goes on at `at`.
    fn enter(&mut self, at: usize) {
        let mut kept = [0; 5];
        kept.copy_from_slice(&self.registers[6..]);
        self.callers.push((at, kept));
        self.registers[10] -= FUNCTION_STACK as u64;
    }

    /// It is over; where whoever called it goes on.
    fn leave(&mut self) -> Option<usize> {
        let (at, kept) = self.callers.pop()?;
        self.registers[6..].copy_from_slice(&kept);
        Some(at)
    }

    /// A number, or the place of a map or of its value.
    fn constant(&mut self, first: &Instruction, second: i32) -> Result<u64> {
        const MAP_VALUE: usize = 2;
        let (low, high) = (u64::from(first.immediate as u32), u64::from(second as u32));
        match first.source {
            0 => Ok(high << 32 | low),
            MAP_VALUE => {
                if let Entry::Vacant(unread) = self.settings.entry(low) {
                    unread.insert(settings(low)?);
                }
                Ok(MAPS + low * MAP + high)
            }
            _ => Ok(MAPS + low * MAP),
        }
    }

    fn read(&self, instruction: &Instruction) -> Result<u64> {
        let place = self.registers[instruction.source].wrapping_add_signed(instruction.offset.into());
        let bytes: Vec<u8> = (0..size(instruction.code)?).map(|byte| self.byte(place + byte)).collect();
        Ok(bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }

    fn byte(&self, place: u64) -> u8 {
        let within = |memory: &[u8], start: u64| {
            let at = usize::try_from(place.checked_sub(start)?).ok()?;
            memory.get(at).copied()
        };
        let found = match place & !(CONTEXT - 1) {
            CONTEXT => within(&self.context(), CONTEXT),
            FRAME => within(self.frame, FRAME),
            STACK => within(&self.stack, STACK),
            _ => {
                let map = place.wrapping_sub(MAPS) / MAP;
                self.settings.get(&map).and_then(|value| within(value, MAPS + map * MAP))
            }
        };
        found.unwrap_or(0)
    }

    /// The kernel's `xdp_buff` begins with where the frame begins and where it ends.
    fn context(&self) -> [u8; 16] {
        let mut context = [0; 16];
        context[..8].copy_from_slice(&FRAME.to_le_bytes());
        context[8..].copy_from_slice(&(FRAME + self.frame.len() as u64).to_le_bytes());
        context
    }

    /// Only the stack remembers what was written to it.
    fn write(&mut self, instruction: &Instruction) -> Result<()> {
        let place = self.registers[instruction.target].wrapping_add_signed(instruction.offset.into());
        let value = self.operand(instruction, instruction.code & 7 == 3);
        let Some(at) = place.checked_sub(STACK).and_then(|at| usize::try_from(at).ok()) else {
            return Ok(());
        };
        let size = usize::try_from(size(instruction.code)?)?;
        if let Some(bytes) = self.stack.get_mut(at..at + size) {
            bytes.copy_from_slice(&value.to_le_bytes()[..size]);
        }
        Ok(())
    }

    fn calculate(&self, instruction: &Instruction) -> Result<u64> {
        let wide = instruction.code & 7 == 7;
        let (left, right) =
            (self.registers[instruction.target], self.operand(instruction, instruction.code & 8 != 0));
        let cut = |number: u64| if wide { number } else { number & 0xFFFF_FFFF };
        let shift = (right & if wide { 63 } else { 31 }) as u32;
        Ok(cut(match instruction.code >> 4 {
            0x0 => left.wrapping_add(right),
            0x1 => left.wrapping_sub(right),
            0x2 => left.wrapping_mul(right),
            0x4 => left | right,
            0x5 => left & right,
            0x6 => left << shift,
            0x7 => cut(left) >> shift,
            0x8 => left.wrapping_neg(),
            0xA => left ^ right,
            0xB => right,
            0xC if wide => (left as i64 >> shift) as u64,
            0xC => (left as i32 >> shift) as u64,
            0xD => return swapped(left, instruction),
            operation => bail!("it calculates in an unknown way: {operation:#x}"),
        }))
    }

    /// How far to jump.
    fn jump(&self, instruction: &Instruction) -> Result<isize> {
        let wide = instruction.code & 7 == 5;
        let cut = |number: u64| if wide { number } else { number & 0xFFFF_FFFF };
        let signed = |number: u64| if wide { number as i64 } else { i64::from(number as i32) };
        let left = self.registers[instruction.target];
        let right = self.operand(instruction, instruction.code & 8 != 0);
        let holds = match instruction.code >> 4 {
            0x0 if !wide => return Ok(instruction.immediate as isize),
            0x0 => true,
            0x1 => cut(left) == cut(right),
            0x2 => cut(left) > cut(right),
            0x3 => cut(left) >= cut(right),
            0x4 => cut(left & right) != 0,
            0x5 => cut(left) != cut(right),
            0x6 => signed(left) > signed(right),
            0x7 => signed(left) >= signed(right),
            0xA => cut(left) < cut(right),
            0xB => cut(left) <= cut(right),
            0xC => signed(left) < signed(right),
            0xD => signed(left) <= signed(right),
            operation => bail!("it jumps in an unknown way: {operation:#x}"),
        };
        Ok(if holds { instruction.offset.into() } else { 0 })
    }

    fn operand(&self, instruction: &Instruction, is_register: bool) -> u64 {
        if is_register { self.registers[instruction.source] } else { i64::from(instruction.immediate) as u64 }
    }
}

fn size(code: u8) -> Result<u64> {
    Ok(match code & 0x18 {
        0x00 => 4,
        0x08 => 2,
        0x10 => 1,
        _ => 8,
    })
}

/// Bytes turned round; on machines that begin with the lowest, this one like all that have a JIT that is measured here.
fn swapped(number: u64, instruction: &Instruction) -> Result<u64> {
    let to_big = instruction.code & 8 != 0 || instruction.code & 7 == 7;
    Ok(match (instruction.immediate, to_big) {
        (16, true) => (number as u16).swap_bytes().into(),
        (32, true) => (number as u32).swap_bytes().into(),
        (64, true) => number.swap_bytes(),
        (16, false) => number & 0xFFFF,
        (32, false) => number & 0xFFFF_FFFF,
        (64, false) => number,
        (width, _) => bail!("it swaps {width} bits"),
    })
}

/// The program as the kernel has it.
fn dump(program: u32) -> Result<Vec<Instruction>> {
    let file = tempfile::NamedTempFile::new()?;
    let arguments = ["prog", "dump", "xlated", "id", &program.to_string(), "file"];
    let output =
        Command::new("bpftool").args(arguments).arg(file.path()).output().context("cannot start bpftool")?;
    ensure!(output.status.success(), "bpftool does not dump program {program}");
    Ok(std::fs::read(file.path())?.chunks_exact(8).map(instruction).collect())
}

fn instruction(bytes: &[u8]) -> Instruction {
    Instruction {
        code: bytes[0],
        target: usize::from(bytes[1] & 15),
        source: usize::from(bytes[1] >> 4),
        offset: i16::from_le_bytes([bytes[2], bytes[3]]),
        immediate: i32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]),
    }
}

/// The one value of a map that nobody can change any more; nothing of any other.
fn settings(map: u64) -> Result<Vec<u8>> {
    if ask(&["map", "show", "id", &map.to_string()])?["frozen"] != 1 {
        return Ok(Vec::new());
    }
    let found = ask(&["map", "lookup", "id", &map.to_string(), "key", "0", "0", "0", "0"])?;
    let bytes = found["value"].as_array().context("bpftool tells no value")?;
    let byte = |byte: &Value| u8::from_str_radix(byte.as_str()?.trim_start_matches("0x"), 16).ok();
    bytes.iter().map(byte).collect::<Option<_>>().context("bpftool tells no bytes")
}

fn ask(words: &[&str]) -> Result<Value> {
    let output =
        Command::new("bpftool").arg("--json").args(words).output().context("cannot start bpftool")?;
    serde_json::from_slice(&output.stdout)
        .with_context(|| format!("bpftool {} tells nothing", words.join(" ")))
}
