//! Readers beside a writer who moves entries: who stands throughout is always found.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use filterd_paper::optimistic::{Directed, Live, Versioned};

/// 2^10 buckets of two slots, seven in ten taken by those who stay: so most newcomers push somebody.
const INDEX_BITS: u32 = 10;
const STAY: u32 = 1400;
/// From this one on they come and go.
const GUESTS: u32 = 1 << 20;
const COME_AND_GO: u32 = 2_000_000;

fn nobody_is_missed(live: &impl Live) {
    let stay: Vec<u32> = (1..=STAY).filter(|&address| live.insert(address).is_ok()).collect();
    assert!(stay.len() > 1000, "only {} came in", stay.len());
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let (mut rounds, mut missed) = (0, 0);
            while rounds == 0 || !is_over.load(Ordering::Relaxed) {
                missed += stay.iter().filter(|&&address| !live.contains(address)).count();
                rounds += 1;
            }
            missed
        });
        let mut refused = 0;
        for guest in 0..COME_AND_GO {
            refused += u32::from(live.insert(GUESTS + guest).is_err());
            if let Some(leaving) = guest.checked_sub(200) {
                live.remove(GUESTS + leaving);
            }
        }
        is_over.store(true, Ordering::Relaxed);
        assert!(refused < COME_AND_GO / 2, "{refused} of {COME_AND_GO} were refused");
        assert_eq!(reader.join().expect("the reader does not panic"), 0, "lookups missed who was there");
    });
}

#[test]
fn moves_in_one_direction_are_never_missed() {
    nobody_is_missed(&Directed::new(INDEX_BITS));
}

#[test]
fn moves_that_count_versions_are_never_missed() {
    nobody_is_missed(&Versioned::new(INDEX_BITS));
}
