//! How many rows a map has that keeps one for each processor.

use aya::util::nr_cpus;

/// More processors than Linux is built for.
pub const MOST: u32 = 1 << 13;

/// As many as there can be processors, and up to a power of two: a number is then cut to one of them.
pub fn rows() -> u32 {
    let possible = nr_cpus().ok().and_then(|count| u32::try_from(count).ok());
    possible.map_or(MOST, |count| count.min(MOST).next_power_of_two())
}
