//! Decides the size of the levels' map: enough for present and coming entries, but limited in proportion to
//! the table.

use filter_common::cuckoo::geometry::Geometry;
use filter_common::labels::pages;
use filter_common::levels::labels::directory;
use filter_common::levels::{Levels, size};

use crate::kernel::ways::Ways;
use crate::kernel::window::Window;

/// The map may take the table's words divided by this number.
const PART: u32 = 4;

/// It may always take this many words (2 MiB). A prefix without room in the levels costs the judge extra
/// table probes.
const ALWAYS: u32 = 1 << 18;

/// The size of a map with room for these ways, limited by the size of a table of this geometry. None if
/// `levels` is large enough. A map that grows because it is full gets half as much again.
pub fn larger_for(levels: Option<&Levels<Window>>, table: Option<Geometry>, ways: &Ways) -> Option<u32> {
    let most = most_beside(table);
    let Some(levels) = levels else {
        return Some(size::for_words(ways.words(None, most)).min(most));
    };
    if levels.size() >= most || ways.words(Some(levels), levels.free()) <= levels.free() {
        return None;
    }
    let needed = levels.packed().saturating_add(ways.words(Some(levels), most));
    let grown = size::within(levels.size() + levels.size() / 2);
    Some(size::for_words(needed).max(grown).min(most))
}

/// The words of the label map that belongs to levels of this size.
pub fn words_of_labels(size: u32, label_bits: u32) -> u32 {
    pages::words(directory(size), label_bits)
}

/// The largest size allowed for a table of this geometry.
fn most_beside(table: Option<Geometry>) -> u32 {
    size::within(table.map_or(0, |geometry| geometry.words() / PART).max(ALWAYS))
}
