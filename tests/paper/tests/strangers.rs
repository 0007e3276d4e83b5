//! How often non-members are taken for members, and how full the filters get: as the theory says, at fixed seeds.

use filterd_paper::blocked::Blocked;
use filterd_paper::bloom::Bloom;
use filterd_paper::cuckoo::{Plain, Room, Shape, Sorted};
use filterd_paper::dleft::DLeft;
use filterd_paper::hash::key;
use filterd_paper::nests::{Arrays, Nests};
use filterd_paper::quotient::Quotient;
use filterd_paper::{Filter, Forget};

const NON_MEMBERS: u64 = 400_000;

/// Lets keys in until one is refused, or `most` are in; says how many.
fn fill(filter: &mut dyn Filter, most: u64) -> u64 {
    (0..most).find(|&number| filter.insert(key(number)).is_err()).unwrap_or(most)
}

/// The share of non-members that are found.
fn false_positives(filter: &dyn Filter) -> f64 {
    let found = (0..NON_MEMBERS).filter(|number| filter.contains(key(1 << 40 | number))).count();
    found as f64 / NON_MEMBERS as f64
}

#[track_caller]
fn expect(what: &str, measured: f64, expected: f64, tolerance: f64) {
    let deviation = measured / expected - 1.0;
    assert!(deviation.abs() < tolerance, "{what}: {measured:.5} where {expected:.5} was expected");
}

/// At most 2b fingerprints are compared, each equal with a chance of 2^-f (section 5.1 of the paper).
#[test]
fn cuckoo_filter_error_rate_matches_fingerprint_length() {
    for (fingerprint, bucket, index_bits) in [(8, 4, 14), (12, 4, 14), (8, 2, 14), (12, 8, 13)] {
        let shape = Shape { fingerprint, bucket, index_bits };
        let mut filter = Plain::new(shape, Room::Path);
        let load = fill(&mut filter, u64::MAX) as f64 / filter.slots() as f64;
        let expected = 1.0 - (1.0 - 0.5_f64.powi(fingerprint as i32)).powf(2.0 * f64::from(bucket) * load);
        expect(&format!("{shape:?}"), false_positives(&filter), expected, 0.12);
    }
}

#[test]
fn semi_sorting_halves_errors_at_same_size() {
    let (shape, longer) = [12, 13].map(|fingerprint| Shape { fingerprint, bucket: 4, index_bits: 15 }).into();
    let (mut plain, mut sorted) = (Plain::new(shape, Room::Path), Sorted::new(longer, Room::Path));
    fill(&mut plain, 120_000);
    fill(&mut sorted, 120_000);
    assert_eq!(plain.bits(), sorted.bits());
    expect("semi-sorted against plain", false_positives(&sorted), false_positives(&plain) / 2.0, 0.2);
}

#[test]
fn bloom_filters_err_as_the_formula_says() {
    let (bits, members, probes) = (1_300_000, 100_000, 9);
    let expected = (1.0 - (-f64::from(probes) * members as f64 / bits as f64).exp()).powi(probes as i32);
    let mut bloom = Bloom::new(bits, probes);
    fill(&mut bloom, members);
    expect("Bloom", false_positives(&bloom), expected, 0.12);
    let mut blocked = Blocked::new(bits, probes);
    fill(&mut blocked, members);
    let measured = false_positives(&blocked);
    assert!((1.3..3.0).contains(&(measured / expected)), "blocked: {measured:.5}, Bloom: {expected:.5}");
}

/// A non-member is found if its quotient and remainder are somebody's: load ÷ 2^r.
#[test]
fn quotient_filter_error_rate_matches_remainder_length() {
    let mut filter = Quotient::new(15, 9);
    let members = filter.slots() * 9 / 10;
    assert_eq!(fill(&mut filter, members), members);
    expect("quotient", false_positives(&filter), 1.0 - (-0.9 / 512.0_f64).exp(), 0.12);
}

/// Thirty-two cells are compared, as far as they are taken.
#[test]
fn d_left_filter_error_rate_matches_remainder_length() {
    let mut filter = DLeft::new(2_000_000, 12);
    let load = fill(&mut filter, u64::MAX) as f64 / filter.slots() as f64;
    assert!((0.80..0.95).contains(&load), "refused at {load:.3}");
    expect("d-left", false_positives(&filter), 32.0 * load / 4096.0, 0.12);
}

/// 50, 84, 95 and 98 % for one, two, four and eight slots in a bucket (section 5.1 of the paper).
#[test]
fn larger_buckets_get_fuller() {
    for (bucket, least, most) in [(1, 0.40, 0.53), (2, 0.83, 0.90), (4, 0.95, 0.98), (8, 0.98, 1.0)] {
        let shape = Shape { fingerprint: 16, bucket, index_bits: 14 };
        let mut filter = Plain::new(shape, Room::Kicks);
        let load = fill(&mut filter, u64::MAX) as f64 / filter.slots() as f64;
        assert!((least..most).contains(&load), "{bucket} in a bucket: refused at {load:.4}");
    }
}

/// The thresholds of d-ary cuckoo hashing are 1/2, 0.918, 0.977 and 0.992 (Fountoulakis and Panagiotou, 2012); with two
/// nests luck has a say beyond.
#[test]
fn more_nests_get_fuller() {
    let cases = [
        (2, Arrays::Own, 0.40, 0.55),
        (2, Arrays::Shared, 0.40, 0.55),
        (3, Arrays::Shared, 0.89, 0.93),
        (4, Arrays::Shared, 0.95, 0.98),
        (5, Arrays::Shared, 0.97, 0.995),
    ];
    for (choices, arrays, least, most) in cases {
        let mut nests = Nests::new(1 << 15, choices, arrays);
        let load = fill(&mut nests, u64::MAX) as f64 / nests.slots() as f64;
        assert!((least..most).contains(&load), "{choices} nests, {arrays:?}: refused at {load:.4}");
    }
}

#[test]
fn a_refused_key_changes_nothing() {
    for room in [Room::Kicks, Room::Path] {
        let mut filter = Plain::new(Shape { fingerprint: 16, bucket: 4, index_bits: 8 }, room);
        let members = fill(&mut filter, u64::MAX);
        let refused = (members..members + 100).filter(|&number| filter.insert(key(number)).is_err()).count();
        assert!(refused > 50, "{room:?}: only {refused} of 100 were refused");
        assert!((0..members).all(|number| filter.contains(key(number))), "{room:?} lost a member");
        (0..members).for_each(|number| filter.remove(key(number)));
        assert!(!(0..members).any(|number| filter.contains(key(number))) || refused < 100, "{room:?}");
    }
}
