//! Selects the drops that are reported in full to watching clients, and the number of drops that each of them
//! represents.
//!
//! Each processor divides its drops into *strata* of a certain size, and reports one drop of each stratum.
//! The choice is random and made before the first drop arrives, and the sample represents the whole stratum.
//! Every drop therefore has the same expected weight, for any sender and in any order (Cochran, Sampling
//! Techniques, chapter 5).
//!
//! The size of the next strata depends on the number of earlier drops, never on their content. If there are
//! few drops, each is reported. If there are many, the stratum doubles, so that a time window has hardly more
//! samples than the budget. The end of a window cuts its last stratum, whichever drop was chosen in it. This
//! does not change any expected value.

/// A window is two to this power jiffies: 32 of them are 32 ms, 128 ms or 320 ms, depending on how the kernel
/// was built.
pub const WINDOW_BITS: u32 = 5;

/// The most samples of a processor in one window of steady traffic. While traffic grows, each doubling adds
/// half as many.
pub const MOST_BUDGET: u64 = 64;

/// The size of the largest stratum: a choice takes sixteen random bits.
const LARGEST: u64 = 1 << 16;

/// The bytes of a frame that are reported: Ethernet with eight VLAN tags, IPv6 and TCP, and some of the
/// payload.
pub const SNAP: u32 = 128;

/// The words of a sample before its frame.
pub const HEAD: usize = 5;

/// The bytes of a sample.
pub const RECORD: usize = HEAD * size_of::<u64>() + SNAP as usize;

/// The label field of a sample if packets are not counted for lists.
pub const NO_LABEL: u64 = 256;

/// The position of each word of a processor's state, counted from
/// [`counters::SAMPLING`](crate::counters::SAMPLING).
pub mod at {
    /// The window that the processor is in.
    pub const WINDOW: usize = 0;
    /// The number of drops to skip before the next sample.
    pub const LEFT: usize = 1;
    /// The position of the chosen drop in its stratum.
    pub const POSITION: usize = 2;
    /// The number of drops in that stratum.
    pub const SIZE: usize = 3;
    /// The number of samples in this window. A doubling of the stratum sets it to half the budget.
    pub const USED: usize = 4;
    /// The number of drops whose samples found no room.
    pub const LOST: usize = 5;
    /// The label of the list that counts the current packet.
    pub const LABEL: usize = 6;
}

/// The number of words of the state.
pub const WORDS: u32 = 7;

/// The progress of a processor in its current stratum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stratum {
    /// See [`at::WINDOW`] for its meaning.
    pub window: u64,
    /// See [`at::LEFT`] for its meaning.
    pub left: u64,
    /// See [`at::POSITION`] for its meaning.
    pub position: u64,
    /// See [`at::SIZE`] for its meaning.
    pub size: u64,
    /// See [`at::USED`] for its meaning.
    pub used: u64,
}

impl Stratum {
    /// True if this drop is skipped, as nearly all are while many arrive.
    #[inline(always)]
    pub fn passes_over(left: u64, window: u64, now: u64) -> bool {
        left != 0 && window == now
    }

    /// Handles a drop that is not skipped. Returns the number of drops that it represents. None if it is
    /// skipped after all because a new window begins with it.
    #[inline(always)]
    pub fn meet(&mut self, now: u64, budget: u64, random: u32) -> Option<u64> {
        if self.window != now {
            self.begin(now, budget, u64::from(random));
            if self.position != 0 {
                self.left = self.position.wrapping_sub(1);
                return None;
            }
        }
        let weight = self.size;
        let behind = self.size.wrapping_sub(1).wrapping_sub(self.position);
        self.used = self.used.wrapping_add(1);
        if self.used >= budget && self.size < LARGEST {
            self.size <<= 1;
            self.used = budget >> 1;
        }
        self.position = u64::from(random >> 16) & self.size.wrapping_sub(1);
        self.left = behind.wrapping_add(self.position);
        Some(weight)
    }

    #[inline(always)]
    fn begin(&mut self, now: u64, budget: u64, random: u64) {
        let follows = now == self.window.wrapping_add(1);
        let smaller = if self.used < budget >> 1 { self.size >> 1 } else { self.size };
        self.size = if follows && smaller != 0 { smaller } else { 1 };
        (self.window, self.used) = (now, 0);
        self.position = random & self.size.wrapping_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    const BUDGET: u64 = 64;

    /// Pseudorandom numbers (xorshift).
    struct Random(u64);

    impl Random {
        fn next(&mut self) -> u32 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 >> 16) as u32
        }
    }

    /// Does what the program does with a drop.
    fn meet(stratum: &mut Stratum, now: u64, random: &mut Random) -> Option<u64> {
        if Stratum::passes_over(stratum.left, stratum.window, now) {
            stratum.left -= 1;
            return None;
        }
        stratum.meet(now, BUDGET, random.next())
    }

    #[test]
    fn few_drops_are_all_reported() {
        let (mut stratum, mut random) = (Stratum::default(), Random(7));
        for window in 1..100 {
            for _ in 1..BUDGET {
                assert_eq!(meet(&mut stratum, window, &mut random), Some(1));
            }
        }
    }

    #[test]
    fn flood_is_sampled_and_next_drop_reported() {
        let (mut stratum, mut random) = (Stratum::default(), Random(7));
        // Three million drops a second, in windows of 32 ms.
        for window in 1..50 {
            let told = (0..96_000).filter(|_| meet(&mut stratum, window, &mut random).is_some()).count();
            let most = if window == 1 { BUDGET + BUDGET / 2 * 11 } else { BUDGET + BUDGET / 2 };
            assert!(told as u64 <= most, "{told} in window {window}");
            assert!(told as u64 >= BUDGET / 4, "{told} in window {window}");
        }
        assert_eq!(meet(&mut stratum, 60, &mut random), Some(1), "whatever there was before");
    }

    /// The senders take turns in the worst way for a sampler that takes every n-th drop, and traffic comes in
    /// bursts that cut strata.
    #[test]
    fn weights_are_unbiased_and_sum_to_drops() {
        const SENDERS: usize = 8;
        let (mut stratum, mut random) = (Stratum::default(), Random(7));
        let (mut sums, mut sent) = ([0_u64; SENDERS], [0_u64; SENDERS]);
        let bursts: Vec<u64> = (0..40_000).map(|at| [10, 700, 3000, 64, 200][at % 5]).collect();
        for (window, burst) in bursts.into_iter().enumerate() {
            for at in 0..burst as usize {
                let sender = if at < 3 { 0 } else { at % SENDERS };
                sent[sender] += 1;
                sums[sender] += meet(&mut stratum, window as u64 + 1, &mut random).unwrap_or(0);
            }
        }
        for (sum, sent) in sums.into_iter().zip(sent) {
            let share = sum as f64 / sent as f64;
            assert!((0.99..1.01).contains(&share), "{share}: {sums:?}");
        }
    }
}
