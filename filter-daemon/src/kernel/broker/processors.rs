//! Determines the number of rows in maps that have one for each processor.

use aya::util::nr_cpus;

/// More processors than Linux supports.
pub const MOST: u32 = 1 << 13;

/// The number of possible processors, rounded up to a power of two, so that a mask maps every number to a
/// row.
pub fn rows() -> u32 {
    let possible = nr_cpus().ok().and_then(|count| u32::try_from(count).ok());
    possible.map_or(MOST, |count| count.min(MOST).next_power_of_two())
}
