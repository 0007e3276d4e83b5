//! How far what a list says of IPv6 reaches: a host has a whole /64 to choose its addresses from, so a ban of one of them
//! may have to block all of that.

use std::borrow::Cow;

use filter_common::target::{Prefix, Target};

use super::Targets;

/// The length of prefix that is blocked for the sake of a longer one; two while a reload changes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reach {
    length: u8,
    also: u8,
}

impl Reach {
    /// Everything is blocked as it was given.
    pub const AS_GIVEN: Self = Self::to(128);

    /// What is longer is widened to this length.
    pub const fn to(length: u8) -> Self {
        Self { length, also: length }
    }

    /// The same on its way to this length: both hold, so that what is blocked before and after is blocked in between.
    pub const fn becoming(self, length: u8) -> Self {
        Self { length, also: self.length }
    }

    /// At the end of that way.
    pub const fn settled(self) -> Self {
        Self::to(self.length)
    }

    /// The length that counts in the end.
    pub const fn length(self) -> u8 {
        self.length
    }

    /// What is blocked for the sake of all of these.
    pub fn all_of(self, targets: &Targets) -> Cow<'_, Targets> {
        if self == Self::AS_GIVEN {
            return Cow::Borrowed(targets);
        }
        Cow::Owned(targets.iter().flat_map(|target| self.of(target)).collect())
    }

    /// What is blocked for the sake of `target`: one prefix, or two, the one that counts in the end first.
    pub fn of(self, target: Target) -> impl Iterator<Item = Target> {
        let (one, other) = (widened(target, self.length), widened(target, self.also));
        [Some(one), Some(other).filter(|other| *other != one)].into_iter().flatten()
    }
}

impl Default for Reach {
    fn default() -> Self {
        Self::AS_GIVEN
    }
}

fn widened(target: Target, length: u8) -> Target {
    match target {
        Target::V6(prefix) if prefix.length() > length => {
            Target::V6(Prefix::covering(prefix.address(), length))
        }
        Target::V4(_) | Target::V6(_) => target,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_longer_is_widened_and_on_the_way_both_lengths_hold() {
        let of = |reach: Reach, target: &str| {
            let all = reach.of(target.parse().unwrap()).map(|target| target.to_string());
            all.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(of(Reach::AS_GIVEN, "2001:db8::1"), "2001:db8::1");
        assert_eq!(of(Reach::to(64), "2001:db8::1"), "2001:db8::/64");
        assert_eq!(of(Reach::to(64), "2001:db8::/48"), "2001:db8::/48");
        assert_eq!(of(Reach::to(64), "203.0.113.7"), "203.0.113.7");
        let widening = Reach::AS_GIVEN.becoming(64);
        assert_eq!(of(widening, "2001:db8::1"), "2001:db8::/64 2001:db8::1");
        assert_eq!(of(widening.settled(), "2001:db8::1"), "2001:db8::/64");
        assert_eq!(of(Reach::to(64).becoming(56), "2001:db8:0:7::/64"), "2001:db8::/56 2001:db8:0:7::/64");
    }
}
