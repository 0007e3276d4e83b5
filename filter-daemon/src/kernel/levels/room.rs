//! How large the levels' map is: as what is in it and what is to come, and no larger than what it saves is worth.

use filter_common::cuckoo::geometry::Geometry;
use filter_common::labels::pages;
use filter_common::levels::labels::directory;
use filter_common::levels::{Levels, size};

use crate::kernel::ways::Ways;
use crate::kernel::window::Window;

/// The map is no larger than the table's part of this number,
const PART: u32 = 4;

/// or than so many words, if these are more: 2 MiB. Who is not told by the levels costs a probe or some.
const ALWAYS: u32 = 1 << 18;

/// The size of a map in which whatever takes these ways has room, as far as it may have beside a table of this geometry; none
/// if `levels` will do. What grows from itself gets half as much again.
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

/// The words of the map that has the labels of levels of such a size.
pub fn words_of_labels(size: u32, label_bits: u32) -> u32 {
    pages::words(directory(size), label_bits)
}

/// The largest size that there may be beside a table of this geometry.
fn most_beside(table: Option<Geometry>) -> u32 {
    size::within(table.map_or(0, |geometry| geometry.words() / PART).max(ALWAYS))
}
