//! Reads values of the data section, and only those that are needed. Every step stays inside the section, and
//! the number of steps is limited to what a valid file needs.

/// The reason why a database is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DatabaseDamage(pub &'static str);

/// A section of values, and the steps left for reading it.
#[derive(Debug)]
pub struct DataSection<'a> {
    section: &'a [u8],
    /// The number of values that may still be read. A record that points to others needs fewer steps than
    /// this limit allows.
    steps: usize,
}

/// Steps for each byte of the section: a pointer to a record of some thirty values has two bytes.
const STEPS_A_BYTE: usize = 32;

/// The steps allowed for a section of any size.
const LEAST_STEPS: usize = 4096;

/// The head of a value, without its content.
struct DataValue {
    kind: DataKind,
    /// The number of bytes, or of contained values.
    size: usize,
    /// The offset at which the content begins.
    content: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum DataKind {
    Pointer,
    Text,
    Number,
    Map,
    Array,
    /// Another kind, whose size is its number of bytes.
    Other,
}

impl<'a> DataSection<'a> {
    /// The values in this section.
    pub fn new(section: &'a [u8]) -> Self {
        let steps = section.len().saturating_mul(STEPS_A_BYTE).saturating_add(LEAST_STEPS);
        Self { section, steps }
    }

    /// The offset of the value with this name in the map at `at`. None if that is not a map or has no such
    /// name.
    pub fn field(&mut self, at: usize, name: &str) -> Result<Option<usize>, DatabaseDamage> {
        let map = self.resolved(at)?;
        if map.kind != DataKind::Map {
            return Ok(None);
        }
        let mut next = map.content;
        for _ in 0..map.size {
            let is_it = self.text(next)? == Some(name);
            let value = self.skip(next)?;
            if is_it {
                return Ok(Some(value));
            }
            next = self.skip(value)?;
        }
        Ok(None)
    }

    /// The text at `at`, if the value is a text.
    pub fn text(&mut self, at: usize) -> Result<Option<&'a str>, DatabaseDamage> {
        let text = self.resolved(at)?;
        if text.kind != DataKind::Text {
            return Ok(None);
        }
        Ok(std::str::from_utf8(self.bytes(&text)?).ok())
    }

    /// The number at `at`, if the value is a number that is not negative.
    pub fn number(&mut self, at: usize) -> Result<Option<u64>, DatabaseDamage> {
        let number = self.resolved(at)?;
        if number.kind != DataKind::Number || number.size > 8 {
            return Ok(None);
        }
        Ok(Some(self.bytes(&number)?.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))))
    }

    /// The value at `at`, or the one that it points to. The result is never a pointer.
    fn resolved(&mut self, at: usize) -> Result<DataValue, DatabaseDamage> {
        let value = self.value(at)?;
        if value.kind != DataKind::Pointer {
            return Ok(value);
        }
        let value = self.value(value.size)?;
        if value.kind == DataKind::Pointer {
            Err(DatabaseDamage("a pointer leads to a pointer"))
        } else {
            Ok(value)
        }
    }

    /// The offset of the next value. Nested values are counted, and pointers are not followed.
    fn skip(&mut self, mut at: usize) -> Result<usize, DatabaseDamage> {
        let mut left: usize = 1;
        while left > 0 {
            let value = self.value(at)?;
            left -= 1;
            at = value.content;
            match value.kind {
                DataKind::Map => left = left.saturating_add(value.size.saturating_mul(2)),
                DataKind::Array => left = left.saturating_add(value.size),
                DataKind::Pointer => {}
                DataKind::Text | DataKind::Number | DataKind::Other => at += self.bytes(&value)?.len(),
            }
        }
        Ok(at)
    }

    fn bytes(&self, value: &DataValue) -> Result<&'a [u8], DatabaseDamage> {
        self.slice(value.content, value.size)
    }

    fn slice(&self, at: usize, length: usize) -> Result<&'a [u8], DatabaseDamage> {
        let end = at.checked_add(length);
        end.and_then(|end| self.section.get(at..end))
            .ok_or(DatabaseDamage("it ends in the middle of a value"))
    }

    /// A number of `length` bytes, and the offset after it.
    fn word(&self, at: usize, length: usize) -> Result<(usize, usize), DatabaseDamage> {
        let bytes = self.slice(at, length)?;
        Ok((bytes.iter().fold(0, |word, byte| word << 8 | usize::from(*byte)), at + length))
    }

    /// The value whose control bytes begin at `at`.
    fn value(&mut self, at: usize) -> Result<DataValue, DatabaseDamage> {
        self.steps = self.steps.checked_sub(1).ok_or(DatabaseDamage("its records have no end"))?;
        let (control, at) = self.word(at, 1)?;
        let (kind, size) = (control >> 5, control & 0x1f);
        if kind == 1 {
            return self.pointer(size, at);
        }
        let (kind, at) = if kind == 0 { self.extended(at)? } else { (kind, at) };
        let (size, content) = match size {
            29 => self.word(at, 1).map(|(more, at)| (29 + more, at))?,
            30 => self.word(at, 2).map(|(more, at)| (285 + more, at))?,
            31 => self.word(at, 3).map(|(more, at)| (65_821 + more, at))?,
            size => (size, at),
        };
        let value = |kind, size| Ok(DataValue { kind, size, content });
        match kind {
            2 => value(DataKind::Text, size),
            5 | 6 | 9 => value(DataKind::Number, size),
            7 => value(DataKind::Map, size),
            11 => value(DataKind::Array, size),
            // The size field holds true or false, and no bytes follow.
            14 => value(DataKind::Other, 0),
            3 | 4 | 8 | 10 | 15 => value(DataKind::Other, size),
            _ => Err(DatabaseDamage("it has values of an unknown kind")),
        }
    }

    fn extended(&self, at: usize) -> Result<(usize, usize), DatabaseDamage> {
        self.word(at, 1).map(|(kind, at)| (kind + 7, at))
    }

    /// A pointer, whose size field holds the target offset.
    fn pointer(&self, bits: usize, at: usize) -> Result<DataValue, DatabaseDamage> {
        let (length, beyond) = [(1, 0), (2, 2048), (3, 526_336), (4, 0)][bits >> 3];
        let (low, content) = self.word(at, length)?;
        let high = if length == 4 { 0 } else { (bits & 7) << (8 * length) };
        Ok(DataValue { kind: DataKind::Pointer, size: (high | low) + beyond, content })
    }
}
