//! Checks the path of a file that the configuration names.

use std::path::PathBuf;

use super::shape::{TextValue, ValueFaults};

/// The path, if it can be the path of a file.
pub fn path(faults: &mut ValueFaults, TextValue { node, text }: TextValue, subject: &str) -> Option<PathBuf> {
    if text.is_empty() {
        faults.tell(node, format!("{subject} is empty"), "write where its file is");
    } else if text.contains('\0') {
        faults.tell(node, "a path cannot contain a zero byte", "remove \\0");
    } else if text.starts_with('~') {
        faults.tell(node, "~ is not expanded here", "write the whole path, from / on");
    } else if text.contains("://") {
        faults.tell(
            node,
            format!("{subject} must be a file, not a URL"),
            "write `url` in place of `path`, or download it first",
        );
    } else {
        return Some(text.into());
    }
    None
}
