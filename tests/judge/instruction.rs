//! The instructions of an XDP program, out of its object file.

use std::collections::HashMap;

use anyhow::{Context, Result};
use object::{Object, ObjectSection, ObjectSymbol, RelocationTarget};

/// Where an XDP program for packets of several parts lies.
const SECTION: &str = "xdp.frags";
const BYTES: usize = 8;

/// One instruction (RFC 9669, section 3).
#[derive(Clone, Debug, Default)]
pub struct Instruction {
    pub code: u8,
    pub target: usize,
    pub source: usize,
    pub offset: i16,
    pub immediate: i32,
    /// The map or the settings that the loader is to write in.
    pub symbol: Option<String>,
}

impl Instruction {
    /// Those of the program in this object.
    pub fn all(object: &[u8]) -> Result<Vec<Self>> {
        let file = object::File::parse(object)?;
        let section = file.section_by_name(SECTION).with_context(|| format!("no section {SECTION}"))?;
        let mut symbols = HashMap::new();
        for (at, relocation) in section.relocations() {
            if let RelocationTarget::Symbol(symbol) = relocation.target() {
                symbols.insert(at as usize / BYTES, file.symbol_by_index(symbol)?.name()?.to_owned());
            }
        }
        let decode = |(at, bytes)| Self { symbol: symbols.remove(&at), ..Self::decode(bytes) };
        Ok(section.data()?.as_chunks::<BYTES>().0.iter().enumerate().map(decode).collect())
    }

    fn decode(bytes: &[u8; BYTES]) -> Self {
        let [code, registers, o0, o1, i0, i1, i2, i3] = *bytes;
        Self {
            code,
            target: usize::from(registers & 15),
            source: usize::from(registers >> 4),
            offset: i16::from_le_bytes([o0, o1]),
            immediate: i32::from_le_bytes([i0, i1, i2, i3]),
            symbol: None,
        }
    }
}
