//! An instruction of the judge that is made another, found by what it does and not by where it is. As tests/proof/mutants.py finds it.

use object::{Object, ObjectSection, ObjectSymbol, RelocationTarget};
use serde_json::{Map, Value};

/// The bytes of an instruction (RFC 9669).
const INSTRUCTION: usize = 8;

/// Which instruction of a function, and what of it is changed.
pub struct Mutant {
    function: String,
    /// What this one has, and which of those that have it this is, counted from the first that has what is said in `behind`.
    parts: Map<String, Value>,
    behind: Map<String, Value>,
    number: usize,
    changes: Map<String, Value>,
}

impl Mutant {
    pub fn of(value: &Value) -> Self {
        let object = |key: &str| value[key].as_object().expect("parts by their names").clone();
        Self {
            function: value["function"].as_str().expect("a name").to_owned(),
            parts: object("parts"),
            behind: object("behind"),
            number: value["number"].as_u64().expect("a number") as usize,
            changes: object("changes"),
        }
    }

    /// The object with it, if it has such an instruction.
    pub fn made_of(&self, object: &[u8]) -> Option<Vec<u8>> {
        let file = object::File::parse(object).expect("the object is whole");
        let function = file.symbols().find(|symbol| symbol.name() == Ok(&self.function))?;
        let section = file.section_by_index(function.section_index()?).expect("it lies in a section");
        let symbol_of = |at: u64| {
            let (_, relocation) = section.relocations().find(|(place, _)| *place == at)?;
            let RelocationTarget::Symbol(symbol) = relocation.target() else { return None };
            file.symbol_by_index(symbol).ok()?.name().ok().map(str::to_owned)
        };
        let all = (function.address()..function.address() + function.size()).step_by(INSTRUCTION);
        let data = section.data().expect("it has bytes");
        let has = |at: &u64, parts: &Map<String, Value>| {
            let bytes = data[*at as usize..].first_chunk().expect("an instruction is whole");
            parts.iter().all(|(part, value)| match part.as_str() {
                "symbol" => symbol_of(*at).as_deref() == value.as_str(),
                _ => Some(read(bytes, part)) == value.as_i64(),
            })
        };
        let behind = all.skip_while(|at| !has(at, &self.behind));
        let at = behind.filter(|at| has(at, &self.parts)).nth(self.number)?;
        let (start, _) = section.file_range().expect("it lies in the file");
        let mut made = object.to_vec();
        let bytes = made[(start + at) as usize..].first_chunk_mut().expect("an instruction is whole");
        for (part, value) in &self.changes {
            write(bytes, part, value.as_i64().expect("a number"));
        }
        Some(made)
    }
}

fn read(bytes: &[u8; INSTRUCTION], part: &str) -> i64 {
    let [code, registers, offset @ .., _, _, _, _] = bytes;
    let [_, _, _, _, immediate @ ..] = bytes;
    match part {
        "code" => (*code).into(),
        "target" => (registers & 0xF).into(),
        "source" => (registers >> 4).into(),
        "offset" => i16::from_le_bytes(*offset).into(),
        "immediate" => i32::from_le_bytes(*immediate).into(),
        _ => panic!("an instruction has no {part}"),
    }
}

fn write(bytes: &mut [u8; INSTRUCTION], part: &str, value: i64) {
    let [code, registers, offset @ .., _, _, _, _] = bytes;
    match part {
        "code" => *code = value as u8,
        "target" => *registers = *registers & 0xF0 | value as u8,
        "source" => *registers = *registers & 0xF | (value as u8) << 4,
        "offset" => *offset = (value as i16).to_le_bytes(),
        "immediate" => bytes[4..].copy_from_slice(&(value as i32).to_le_bytes()),
        _ => panic!("an instruction has no {part}"),
    }
}
