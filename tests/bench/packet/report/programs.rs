//! The programs themselves.

use filterd_measure::tables::{Table, grouped};
use pages::page::Chapter;
use serde_json::{Value, json};

use super::Report;
use crate::code::{Code, Program};
use crate::plan::USUAL;

pub fn chapter(report: &Report<'_>) -> Chapter {
    let heads = ["program", "steps of a miss", "BPF instructions", "bytes of machine code", "steps verified"];
    let table = Table {
        title: "Programs as loaded".to_owned(),
        heads: heads.map(str::to_owned).into(),
        rows: report.code.iter().filter(|code| [0, USUAL].contains(&code.of.entries)).map(row).collect(),
    };
    Chapter {
        title: "Programs".to_owned(),
        words: "Programs as the kernel has them; they are the same for other numbers of entries. Steps are \
                the BPF instructions that a packet runs through. Instructions within helpers are not counted."
            .to_owned(),
        tables: vec![table],
        ..Chapter::default()
    }
}

/// The programs of one subject are added up.
fn row(code: &Code) -> Vec<String> {
    let sum = |of: fn(&Program) -> u32| code.programs.iter().map(of).sum::<u32>().to_string();
    let entries =
        if code.of.entries == 0 { String::new() } else { format!(", {}", grouped(code.of.entries.into())) };
    vec![
        format!("{}{entries}", code.of.peer),
        code.steps.map_or_else(|| "?".to_owned(), |steps| steps.to_string()),
        sum(|program| program.instructions),
        sum(|program| program.machine_bytes),
        sum(|program| program.verified),
    ]
}

/// For programs.
pub fn json(code: &[Code]) -> Value {
    code.iter().map(code_json).collect()
}

fn code_json(code: &Code) -> Value {
    let program = |program: &Program| {
        json!({
            "name": program.name,
            "instructions": program.instructions,
            "machine_bytes": program.machine_bytes,
            "verified": program.verified,
        })
    };
    json!({
        "program": code.of.peer.to_string(),
        "entries": code.of.entries,
        "steps_of_a_miss": code.steps,
        "programs": code.programs.iter().map(program).collect::<Vec<_>>(),
    })
}
