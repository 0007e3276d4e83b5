//! How large the programs are as the kernel made them, and how much of them a packet runs through.

use anyhow::{Context, Result};
use aya::programs::ProgramInfo;

use crate::plan::Spec;
use crate::sender::Kind;
use crate::steps;
use crate::subject::Subject;

/// What one packet meets.
#[derive(Debug)]
pub struct Code {
    pub of: Spec,
    /// Instructions that a packet of somebody who is not listed runs through, all programs together; not known where
    /// some of them hide in a helper.
    pub steps: Option<usize>,
    pub programs: Vec<Program>,
}

/// The size of one program.
#[derive(Debug)]
pub struct Program {
    pub name: String,
    /// BPF instructions, after the verifier has thrown dead ones away and has written lookups in line.
    pub instructions: u32,
    /// Bytes of machine code.
    pub machine_bytes: u32,
    /// Instructions that the verifier looked at, over all paths.
    pub verified: u32,
}

/// What packets meet in each of the subjects.
pub fn of(subjects: &[Subject]) -> Result<Vec<Code>> {
    subjects.iter().map(code).collect()
}

fn code(subject: &Subject) -> Result<Code> {
    let infos = subject.programs()?;
    let ids: Vec<u32> = infos.iter().map(ProgramInfo::id).collect();
    let steps = steps::count(&ids, &Kind::of(subject.spec.peer).frame())
        .with_context(|| format!("cannot count the steps of {}", subject.spec.peer))?;
    Ok(Code { of: subject.spec, steps, programs: infos.iter().map(program).collect::<Result<_>>()? })
}

fn program(info: &ProgramInfo) -> Result<Program> {
    const INSTRUCTION: u32 = 8;
    let translated = info.size_translated().context("the kernel hides its programs")?;
    Ok(Program {
        name: info.name_as_str().unwrap_or("?").to_owned(),
        instructions: translated / INSTRUCTION,
        machine_bytes: info.size_jitted(),
        verified: info.verified_instruction_count().unwrap_or_default(),
    })
}
