//! Readers beside a writer who moves entries: who stands throughout is always found.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use filter_common::Words;
use filterd_paper::optimistic::{Directed, Live, VERSIONS, Versioned};

/// 2^10 buckets of two slots, seven in ten taken by those who stay: so most pending entries push somebody.
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

/// What a reader sees between whose loads everything happened that made `after` out of `before`.
struct Torn<'a> {
    before: &'a [u64],
    after: &'a [u64],
    /// Loads that still see what was.
    left: Cell<u32>,
}

impl Words for Torn<'_> {
    fn load(&self, index: u32) -> u64 {
        let left = self.left.get();
        self.left.set(left.saturating_sub(1));
        if left > 0 { self.before[index as usize] } else { self.after[index as usize] }
    }
}

/// The counters are there for the reader who looks into one home too early and into the other too late: chance hardly ever
/// brings him about, so here he is made.
#[test]
fn entry_moved_between_loads_is_found() {
    let live = Versioned::new(INDEX_BITS);
    let copy = || (0..Versioned::size(INDEX_BITS)).map(|at| live.words().load(at)).collect::<Vec<_>>();
    let stay: Vec<u32> = (1..=STAY).filter(|&address| live.insert(address).is_ok()).collect();
    let mut before = copy();
    let mut looked_twice = 0;
    for guest in 0..400 {
        _ = live.insert(GUESTS + guest);
        let after = copy();
        // A counter, the first home, the second one: after each of these loads the guest comes in.
        for (&address, seen) in stay.iter().flat_map(|address| (0..=3).map(move |seen| (address, seen))) {
            let torn = Torn { before: &before, after: &after, left: Cell::new(seen) };
            let torn = Versioned::over(INDEX_BITS, torn);
            assert!(torn.finds(address), "{address} is missed after {seen} loads, when guest {guest} came");
        }
        let counters = before.iter().zip(&after).take(VERSIONS as usize);
        looked_twice += counters.filter(|(before, after)| before != after).count();
        live.remove(GUESTS + guest);
        before = copy();
    }
    assert!(looked_twice > 100, "only {looked_twice} had to be looked at twice");
}
