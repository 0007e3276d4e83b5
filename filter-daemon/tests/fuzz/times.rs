//! The saved times of lists: since when and until when each entry is there.

use filterd::state::times;

use crate::hold::Reader;
use crate::words;

/// The buffer that is written through.
const FIXED: usize = 80 << 10;

/// A run of nothing has twenty bytes and takes more than eighty, in a vector that doubles; what was read is read twice.
const PER_BYTE: usize = 32;

#[test]
fn times_are_read_exactly_or_refused() {
    let read = |input: &[u8]| {
        let Some(found) = times::parse(input) else { return };
        let mut written = Vec::with_capacity(input.len());
        times::write(&found, &mut written).expect("memory can be written");
        assert_eq!(written.len() as u64, times::length(&found));
        assert_eq!(times::parse(&written), Some(found));
    };
    Reader { name: "times", words: &words::TIMES, fixed: FIXED, per_byte: PER_BYTE, read }.holds();
}

#[test]
fn the_corpus_is_of_times() {
    let kept = crate::corpus::of("times");
    let good = kept.iter().filter(|input| times::parse(input).is_some()).count();
    assert!(good >= 4, "only {good} of {} are whole", kept.len());
}
