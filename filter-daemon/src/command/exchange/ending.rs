//! The first and the last line of an export as plain text, for ipset or for nft. An input without the last
//! line was cut. A cut export may lack entries that allow, because they come last.

use crate::text::lines::Line;

/// The beginning of the first line.
pub const HEAD: &str = "# filterd export";

/// The last line of an export.
pub const END: &str = "# end of filterd export";

/// Looks for both lines in an input.
#[derive(Debug, Default)]
pub struct BoundaryLines {
    has_head: bool,
    has_end: bool,
}

impl BoundaryLines {
    /// Notes the next line.
    pub fn note(&mut self, line: &Line<'_>) {
        if line.bytes.first() == Some(&b'#') {
            self.has_head |= line.number == 1 && line.bytes.starts_with(HEAD.as_bytes());
            self.has_end |= line.bytes.trim_ascii_end() == END.as_bytes();
        }
    }

    /// Returns whether filterd wrote the input.
    pub const fn is_ours(&self) -> bool {
        self.has_head
    }

    /// The error of the input, known after its last line.
    pub fn fault(&self) -> Option<String> {
        (self.has_head && !self.has_end)
            .then(|| format!("the export is incomplete: its last line, `{END}`, is missing"))
    }
}
