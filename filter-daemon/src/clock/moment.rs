//! Moments that outlive their process, and their conversion to the time of another process.
//!
//! Within one boot, the time since boot counts, even if the clock was set. Across boots, only the wall
//! clock continues, so it counts unless it is before the moment. In that case it is unknown how long the
//! machine was off, and entries keep the time that they had left at that moment. All times of a process are
//! shifted alike. Process time and wall clock were equal when the process started; a later difference is by
//! how much the clock was set meanwhile.

use std::fmt;
use std::str::FromStr;

use super::seconds;
use crate::blocklist::Timestamp;

/// Identifies a boot of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Boot(pub [u8; 16]);

impl Boot {
    /// True if the boot is known. Two unknown boots count as different.
    pub fn is_known(self) -> bool {
        self != Self::default()
    }
}

/// The ID in hexadecimal digits.
impl fmt::Display for Boot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// A moment in the time of one process, with the facts that another process needs to convert it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The boot in which it lies.
    pub boot: Boot,
    /// How far the process time was ahead of the time since boot, in milliseconds.
    pub offset: i64,
    /// When the process started. Process time and wall clock were equal then.
    pub begun: Timestamp,
    /// The moment in process time.
    pub own: Timestamp,
    /// The wall clock at this moment.
    pub wall: Timestamp,
}

/// The shift from the time of one process to that of another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shift {
    /// The seconds to add.
    pub seconds: i64,
    /// How many seconds the clock was before the moment, if it was.
    pub behind: Option<u64>,
}

impl Moment {
    /// True if both are known to be from one boot.
    pub fn is_in_the_boot_of(&self, other: &Self) -> bool {
        self.boot == other.boot && self.boot.is_known()
    }

    /// True if both are in the time of one process.
    pub fn is_in_the_time_of(&self, other: &Self) -> bool {
        (self.boot, self.offset, self.begun) == (other.boot, other.offset, other.begun)
    }

    /// True if later conversions from this moment and from `other` give equal results, in any boot.
    pub fn says_the_same_as(&self, other: &Self) -> bool {
        let set = |moment: &Self| moment.wall.after(moment.own);
        self.is_in_the_boot_of(other)
            && self.shift_to(other).seconds == 0
            // Both are full seconds, read one after the other.
            && (set(self) - set(other)).abs() <= 1
    }

    /// The shift from the time of this moment to that of `next`.
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

/// The text form, which can be parsed again.
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
    fn moment_survives_its_text_form() {
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
