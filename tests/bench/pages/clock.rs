//! Time that the processor takes, in nanoseconds for each of many.

use std::hint::black_box;

use filterd_measure::processor;

/// What `work` takes for each of so many things.
pub fn each(things: usize, work: impl FnOnce()) -> f64 {
    counted(|| {
        work();
        things
    })
    .0
}

/// What `work` takes for each of the things that it counts, and how many these are.
pub fn counted(work: impl FnOnce() -> usize) -> (f64, usize) {
    let begin = processor::time();
    let things = work();
    ((processor::time() - begin).as_nanos() as f64 / things.max(1) as f64, things)
}

/// What it takes to ask about each of the keys, one after the other, and how many are found.
pub fn lookups<K: Copy>(keys: &[K], contains: impl Fn(K) -> bool) -> (f64, usize) {
    let mut found = 0;
    let time = each(keys.len(), || found = black_box(keys.iter().filter(|&&key| contains(key)).count()));
    (time, found)
}
