//! Splits a long answer into several lines.

/// The most entries on one line. An entry takes at most 700 bytes (512 for its note, if every byte is escaped), so that
/// even the worst line stays below [`LONGEST_LINE`](super::LONGEST_LINE).
const MOST_ENTRIES: usize = 1024;

/// Starts a new part when the weight of a part, in entries, would exceed what one line carries; returns at least one
/// part.
pub fn split<T>(items: Vec<T>, weight: impl Fn(&T) -> usize) -> impl Iterator<Item = Vec<T>> {
    let mut parts = vec![Vec::new()];
    let mut total = 0;
    for item in items {
        total += weight(&item);
        if total > MOST_ENTRIES && parts.last().is_some_and(|part| !part.is_empty()) {
            total = weight(&item);
            parts.push(Vec::new());
        }
        if let Some(part) = parts.last_mut() {
            part.push(item);
        }
    }
    parts.into_iter()
}
