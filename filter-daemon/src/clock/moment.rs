//! Moments that outlive the process whose they are, and how they are found in the time of another one.
//!
//! In the same boot the time since boot counts, whatever was done to the clock. From one boot to the next only the clock on
//! the wall goes on: it counts, unless it lies before the moment. Then nobody knows how long the machine was off, and what was
//! left at that moment is left still. Times are shifted as a whole. A process' time and the wall's were the same when it
//! began; what the wall was ahead of it later is what the clock was set by meanwhile.

use std::fmt;
use std::str::FromStr;

use super::seconds;
use crate::blocklist::Timestamp;

/// Which boot of the machine this is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Boot(pub [u8; 16]);

impl Boot {
    /// Two that are not known are not the same.
    pub fn is_known(self) -> bool {
        self != Self::default()
    }
}

/// As text.
impl fmt::Display for Boot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// A moment in the time of one process, with all that another one needs to find it in its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// In which boot.
    pub boot: Boot,
    /// What the process' own time was ahead of the time since boot, in milliseconds.
    pub offset: i64,
    /// When the process began. Its own time and the time on the wall were the same then.
    pub begun: Timestamp,
    /// The moment, in the process' own time.
    pub own: Timestamp,
    /// What the clock on the wall said.
    pub wall: Timestamp,
}

/// What is to be added to times of one process to have them in the time of another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shift {
    /// So many seconds.
    pub seconds: i64,
    /// By how many seconds the clock was before the moment.
    pub behind: Option<u64>,
}

impl Moment {
    /// Were both in one boot, as far as that is known?
    pub fn is_in_the_boot_of(&self, other: &Self) -> bool {
        self.boot == other.boot && self.boot.is_known()
    }

    /// Are both in the time of one process?
    pub fn is_in_the_time_of(&self, other: &Self) -> bool {
        (self.boot, self.offset, self.begun) == (other.boot, other.offset, other.begun)
    }

    /// Does whoever counts from this one, later and in whatever boot, come to the same as from the `other`?
    pub fn says_the_same_as(&self, other: &Self) -> bool {
        let set = |moment: &Self| moment.wall.after(moment.own);
        self.is_in_the_boot_of(other)
            && self.shift_to(other).seconds == 0
            // Both are full seconds, read one after the other.
            && (set(self) - set(other)).abs() <= 1
    }

    /// From the time that this is in into that of `next`.
    pub fn shift_to(&self, next: &Self) -> Shift {
        if self.is_in_the_time_of(next) {
            return Shift::default();
        }
        if self.is_in_the_boot_of(next) {
            return Shift { seconds: seconds(next.offset.saturating_sub(self.offset)), behind: None };
        }
        let lies_behind = self.wall.after(next.begun);
        if lies_behind > 0 {
            let behind = Some(lies_behind.unsigned_abs());
            return Shift { seconds: next.begun.after(self.own), behind };
        }
        Shift { seconds: self.wall.after(self.own), behind: None }
    }
}

/// As words, which can be read again.
impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { boot, offset, begun, own, wall } = self;
        write!(f, "{boot} {offset} {} {} {}", begun.secs(), own.secs(), wall.secs())
    }
}

impl FromStr for Moment {
    type Err = ();

    fn from_str(words: &str) -> Result<Self, ()> {
        let mut words = words.split(' ');
        let mut word = || words.next().ok_or(());
        let boot = u128::from_str_radix(word()?, 16).map_err(drop)?;
        let offset = word()?.parse().map_err(drop)?;
        let mut time = || Ok(Timestamp::from_secs(word()?.parse().map_err(drop)?));
        Ok(Self { boot: Boot(boot.to_be_bytes()), offset, begun: time()?, own: time()?, wall: time()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_read_again_from_its_words() {
        let [begun, own, wall] = [1_795_300_000, 1_795_300_007, 1_795_296_407].map(Timestamp::from_secs);
        for boot in [Boot::default(), Boot(*b"0123456789abcdef")] {
            let moment = Moment { boot, offset: -1_234_567, begun, own, wall };
            assert_eq!(moment.to_string().parse(), Ok(moment));
        }
        for words in ["", "0", "0 1 2 3", "g 1 2 3 4", "0 1 2 3 -4"] {
            assert_eq!(words.parse::<Moment>(), Err(()), "{words}");
        }
    }
}
