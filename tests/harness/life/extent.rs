//! How much of a prefix is dropped: cut where anything begins or ends that lists name, every piece of it meets one fate.

use std::collections::BTreeSet;

use super::prefix::{Prefix, ip};
use super::reference::Reference;
use super::wanted::During;

/// Of more pieces nobody asks.
const MOST: usize = 200;

/// How much of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    Nothing,
    Part,
    Whole,
}

impl Reference {
    /// How much of this is dropped on some port all that time? None if nobody can know, or it is in too many pieces.
    pub fn extent(&self, target: Prefix, during: During) -> Option<Extent> {
        let lists = self.lists().chain(self.lists_that_allow()).map(|(_, wanted)| wanted);
        let all = lists.chain([&self.guarded]).flat_map(|wanted| wanted.effects());
        let within = all.map(|(effect, _)| effect).filter(|effect| target.covers(*effect));
        let mut pieces = BTreeSet::from([target.first]);
        for effect in within {
            pieces.insert(effect.first);
            pieces.extend(effect.last().checked_add(1).filter(|behind| *behind <= target.last()));
            if pieces.len() > MOST {
                return None;
            }
        }
        let fates = pieces.into_iter().map(|first| self.drops_some(ip(target.is_six, first), during));
        let fates: BTreeSet<bool> = fates.collect::<Option<_>>()?;
        Some(match (fates.contains(&true), fates.contains(&false)) {
            (true, false) => Extent::Whole,
            (true, true) => Extent::Part,
            (false, _) => Extent::Nothing,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::wanted::{Lease, Wanted};
    use super::*;

    #[test]
    fn prefix_is_dropped_wholly_partly_or_not() {
        let (mut reference, now) = (Reference::new(), During(1.0, 2.0));
        let prefix = |first, length| Prefix::around(false, first, length);
        let net = 0xcb00_7100;
        reference.configured.blocked.insert("drop".to_owned(), Wanted::all(&[prefix(net, 25)]));
        let of = |reference: &Reference, length| reference.extent(prefix(net, length), now);
        assert_eq!([24, 25, 26].map(|length| of(&reference, length)), {
            [Some(Extent::Part), Some(Extent::Whole), Some(Extent::Whole)]
        });
        assert_eq!(reference.extent(prefix(net + 128, 25), now), Some(Extent::Nothing));
        reference.live_mut("ssh").add(prefix(net + 128, 25), Lease::PERMANENT);
        assert_eq!(of(&reference, 24), Some(Extent::Whole));
        reference.allowed_mut("office").add(prefix(net + 7, 32), Lease::PERMANENT);
        assert_eq!([of(&reference, 24), of(&reference, 28)], [Some(Extent::Part); 2]);
        reference.allowed_mut("office").add(prefix(net, 24), Lease::UNKNOWN);
        assert_eq!(of(&reference, 24), None);
    }
}
