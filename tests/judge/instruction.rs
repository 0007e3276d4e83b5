//! The instructions of a judge and of the functions that it calls, out of its object file.

use std::collections::HashMap;
use std::ops::Range;

use anyhow::{Context, Result};
use object::{File, Object, ObjectSection, ObjectSymbol, RelocationTarget};

/// Where the programs lie: of XDP for packets of several parts, and of TC.
const SECTIONS: [&str; 2] = ["xdp.frags", "classifier"];

/// Where functions lie, and what those that a program calls are called. What else lies there is the compiler's, and unused.
const FUNCTIONS: &str = ".text";
pub const OURS: &str = "filterd_";

/// What stands in the names of those of them that look up for which list a hit counts. No verdict depends on what they read,
/// so they may read it again, and in any order.
const COUNTING: &str = "_count";

/// What those of them are called that are asked after a hit.
pub const FOLLOWING: &str = "filterd_follow";

const BYTES: usize = 8;

/// One instruction (RFC 9669, section 3).
#[derive(Clone, Debug, Default)]
pub struct Instruction {
    pub code: u8,
    pub target: usize,
    pub source: usize,
    pub offset: i16,
    pub immediate: i32,
    /// The map, the settings or the function that the loader is to write in.
    pub symbol: Option<String>,
    /// Does its function begin after a hit?
    pub follows: bool,
}

impl Instruction {
    /// Those of each program in this object, and then those of each function.
    pub fn all(object: &[u8]) -> Result<Vec<Vec<Self>>> {
        Self::those(object, |_| true)
    }

    /// The same without functions on which no verdict depends.
    pub fn judging(object: &[u8]) -> Result<Vec<Vec<Self>>> {
        Self::those(object, |function| !function.contains(COUNTING))
    }

    fn those(object: &[u8], wanted: fn(&str) -> bool) -> Result<Vec<Vec<Self>>> {
        let file = File::parse(object)?;
        let section = SECTIONS.into_iter().find(|name| file.section_by_name(name).is_some());
        let section = section.context("it has no program")?;
        let programs = Self::of_section(&file, section)?;
        let mut all: Vec<_> =
            functions(&file, section, wanted)?.into_iter().map(|(_, at)| programs[at].to_vec()).collect();
        let functions = functions(&file, FUNCTIONS, wanted)?;
        if !functions.is_empty() {
            let section = Self::of_section(&file, FUNCTIONS)?;
            all.extend(functions.into_iter().map(|(name, at)| Self::of_function(&name, &section[at])));
        }
        Ok(all)
    }

    /// Does it call a function that looks a source up in one of the sets that block on some ports?
    pub fn asks_a_clause(&self) -> bool {
        let function = self.symbol.as_ref().and_then(|function| function.strip_prefix("filterd_c"));
        function.is_some_and(|slot| slot.starts_with(|first: char| first.is_ascii_digit()))
    }

    /// Does it call a function whose name begins so?
    pub fn calls(&self, name: &str) -> bool {
        self.symbol.as_ref().is_some_and(|function| function.starts_with(name))
    }

    fn of_function(name: &str, instructions: &[Self]) -> Vec<Self> {
        let follows = name.starts_with(FOLLOWING);
        instructions.iter().map(|instruction| Self { follows, ..instruction.clone() }).collect()
    }

    fn of_section(file: &File<'_>, name: &str) -> Result<Vec<Self>> {
        let section = file.section_by_name(name).with_context(|| format!("no section {name}"))?;
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
            follows: false,
        }
    }
}

/// The names of those of our functions in this section that are `wanted`, and where they lie in it.
fn functions(file: &File<'_>, name: &str, wanted: fn(&str) -> bool) -> Result<Vec<(String, Range<usize>)>> {
    let Some(section) = file.section_by_name(name) else { return Ok(Vec::new()) };
    let ours = file.symbols().filter(|symbol| symbol.section_index() == Some(section.index()));
    let range = |symbol: object::Symbol<'_, '_>| {
        let first = symbol.address() as usize / BYTES;
        Ok((symbol.name()?.to_owned(), first..first + symbol.size() as usize / BYTES))
    };
    let named = ours.map(range).collect::<Result<Vec<_>>>()?;
    let is_one = |name: &str| name.starts_with(OURS) && wanted(name);
    Ok(named.into_iter().filter(|(name, _)| is_one(name)).collect())
}
