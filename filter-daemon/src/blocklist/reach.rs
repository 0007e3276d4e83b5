//! How far a list widens IPv6 targets. A host can choose any address of its /64, so blocking one address
//! may require blocking the whole /64.

use std::borrow::Cow;

use filter_common::target::{Prefix, Target};

use super::Targets;

/// The length to which longer prefixes are widened. There are two while a reload changes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reach {
    length: u8,
    also: u8,
}

impl Reach {
    /// Widens nothing at all.
    pub const AS_GIVEN: Self = Self::to(128);

    /// Longer prefixes are widened to this length.
    pub const fn to(length: u8) -> Self {
        Self { length, also: length }
    }

    /// Changes to this length. Both lengths apply until then, so that targets blocked before and after stay
    /// blocked in between.
    pub const fn becoming(self, length: u8) -> Self {
        Self { length, also: self.length }
    }

    /// The reach after that change.
    pub const fn settled(self) -> Self {
        Self::to(self.length)
    }

    /// The length after the change, if one is under way.
    pub const fn length(self) -> u8 {
        self.length
    }

    /// The targets that are blocked for these.
    pub fn all_of(self, targets: &Targets) -> Cow<'_, Targets> {
        if self == Self::AS_GIVEN {
            return Cow::Borrowed(targets);
        }
        Cow::Owned(targets.iter().flat_map(|target| self.of(target)).collect())
    }

    /// The targets that are blocked for `target`: one or two, the final one first.
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
    fn only_longer_prefixes_widen_to_both_lengths() {
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
