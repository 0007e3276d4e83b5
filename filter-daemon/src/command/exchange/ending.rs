//! The first and the last line of an export as plain text, for ipset or for nft. Without the last line it was cut. A cut export
//! may lack what allows, which comes last.

use crate::text::lines::Line;

/// How the first line begins.
pub const HEAD: &str = "# filterd export";

/// The last line.
pub const END: &str = "# end of filterd export";

/// Watches for both lines.
#[derive(Debug, Default)]
pub struct Ending {
    has_head: bool,
    has_end: bool,
}

impl Ending {
    /// Notes the next line.
    pub fn note(&mut self, line: &Line<'_>) {
        if line.bytes.first() == Some(&b'#') {
            self.has_head |= line.number == 1 && line.bytes.starts_with(HEAD.as_bytes());
            self.has_end |= line.bytes.trim_ascii_end() == END.as_bytes();
        }
    }

    /// Did filterd write the input?
    pub const fn is_ours(&self) -> bool {
        self.has_head
    }

    /// What is wrong, once there are no more lines.
    pub fn fault(&self) -> Option<String> {
        (self.has_head && !self.has_end)
            .then(|| format!("the export is incomplete: its last line, `{END}`, is missing"))
    }
}
