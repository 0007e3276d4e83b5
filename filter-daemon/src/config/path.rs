//! Checks the path of a file that the configuration names.

use std::path::PathBuf;

use super::shape::{Faults, Word};

/// The path, if it can be the path of a file.
pub fn path(faults: &mut Faults, Word { node, text }: Word, subject: &str) -> Option<PathBuf> {
    if text.is_empty() {
        faults.tell(node, format!("{subject} is empty"), "write where its file is");
    } else if text.contains('\0') {
        faults.tell(node, "no path has a zero byte in it", "remove \\0");
    } else if text.starts_with('~') {
        faults.tell(node, "nothing stands for ~ here", "write the whole path, from / on");
    } else if text.contains("://") {
        faults.tell(
            node,
            format!("{subject} is a file, not an address on the web"),
            "write `url` in place of `path`, or download it first",
        );
    } else {
        return Some(text.into());
    }
    None
}
