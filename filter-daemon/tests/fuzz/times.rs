//! What stands behind the lists in their copies: since when and until when each entry is there.

use filterd::source::copies::behind;

use crate::hold::Reader;
use crate::words;

/// The buffer that is written through.
const FIXED: usize = 80 << 10;

/// A run of nothing has twenty bytes and takes more than eighty, in a vector that doubles; what was read is read twice.
const PER_BYTE: usize = 32;

#[test]
fn times_are_read_exactly_or_refused() {
    let read = |input: &[u8]| {
        let Some(times) = behind::parse(input) else { return };
        let mut written = Vec::with_capacity(input.len());
        let extent = behind::write(&times, &mut written).expect("memory can be written");
        assert_eq!((extent.bytes, extent.bytes), (written.len() as u64, behind::length(&times)));
        assert_eq!(behind::parse(&written), Some(times));
    };
    Reader { name: "times", words: &words::TIMES, fixed: FIXED, per_byte: PER_BYTE, read }.holds();
}

#[test]
fn the_corpus_is_of_times() {
    let kept = crate::corpus::of("times");
    let good = kept.iter().filter(|input| behind::parse(input).is_some()).count();
    assert!(good >= 4, "only {good} of {} are whole", kept.len());
}
