//! The possible verdicts for a packet, and their reasons.

use crate::sets::Slot;

/// Whether a packet passes, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The packet continues to the kernel's network stack.
    Pass(Reason),
    /// The packet is dropped, unless the filter only counts.
    Drop(Reason),
}

/// The real fate of a packet: its verdict, as far as the filter enforces it. Each outcome has its own
/// counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The packet continues to the kernel's network stack.
    Pass(Reason),
    /// The packet is dropped.
    Drop(Reason),
    /// The packet passes, but would be dropped if the filter enforced.
    WouldDrop(Reason),
    /// The packet passes, but would be dropped if protection were not paused.
    Paused(Reason),
}

/// The treatment of packets that are to be dropped. The numbers are those of the word in a judge's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Enforcement {
    /// They are only counted, as long as the configuration says so.
    Count = 0,
    /// The packets are dropped.
    Drop = 1,
    /// They are only counted, for a limited time.
    Pause = 2,
}

/// The number of counters. There is room for more reasons than exist today, so that a new reason does not
/// change the layout.
pub const COUNTERS: u32 = 4 * REASONS;

/// The number of reasons that there is room for.
const REASONS: u32 = 32;

/// The first counter of packets that would be dropped.
const WOULD_DROP: u32 = REASONS;

/// The first counter of packets that would be dropped if protection were not paused.
const PAUSED: u32 = 2 * REASONS;

/// Counters from here on belong to no outcome.
pub const UNUSED: u32 = 3 * REASONS;

/// Defines [`Reason`] together with the tables that must list every reason, so that a new one cannot be
/// forgotten there.
macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident = $number:literal,)*) => {
        /// Why a packet passes or is dropped. The numbers are those of counters and never change.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u32)]
        pub enum Reason {
            $($(#[$doc])* $name = $number,)*
        }

        impl Reason {
            /// Every reason, in the order of the numbers.
            pub const ALL: [Self; [$($number),*].len()] = [$(Self::$name),*];

            /// The reason with this number. A number without a reason means `Unlisted`.
            #[inline(always)]
            pub const fn of(number: u32) -> Self {
                match number {
                    $($number => Self::$name,)*
                    _ => Self::Unlisted,
                }
            }
        }
    };
}

reasons! {
    /// Its source is on no list.
    Unlisted = 0,
    /// It is neither IPv4 nor IPv6.
    NotIp = 1,
    /// It ends too early, or its header contradicts its type.
    Malformed = 2,
    /// It has too many VLAN tags.
    TooManyTags = 3,
    /// Its IPv4 address is listed.
    Address4 = 4,
    /// An IPv4 prefix up to /24 that covers it is listed.
    Network4 = 5,
    /// The IPv6 /64 of its source is listed.
    Net64 = 6,
    /// Its IPv6 address, or a prefix of another length that covers it, is listed.
    Other6 = 7,
    /// Its IPv6 source is listed, but it is neighbour discovery. Without that, unlisted hosts on the same
    /// link could not be reached either.
    Neighbour = 8,
    /// Its source is listed, and allowed.
    Allowed = 9,
    /// Its source is listed, but it is part of a flow that this host began.
    Reply = 10,
    /// Its source is listed on some ports only, and it is sent to none of them.
    OtherPort = 11,
    /// Its source is listed on some ports only, and it is a later fragment, which has no port.
    LaterFragment = 12,
    /// It is sent to a listed destination. A reason to drop has no number of 13 to 15: in a slot of the
    /// counters it would have the place of another one.
    Outbound = 16,
}

const _: () = {
    let mut index = 1;
    while index < Reason::ALL.len() {
        assert!(
            (Reason::ALL[index - 1] as u32) < Reason::ALL[index] as u32,
            "reasons are listed by their numbers: give the new reason the next free number"
        );
        index += 1;
    }
    assert!(
        (Reason::ALL[index - 1] as u32) < REASONS,
        "no counter is left for this reason: raise `REASONS`, which changes the layout of the counters"
    );
    assert!(REASONS - 1 <= OF_REASON, "`Told` has too few bits for the number of a reason");
};

/// A reason as a number. Separately verified functions of a program pass it to each other, because a verifier
/// would follow one path for each value of an enum. The bits above the reason hold the clause that led to it,
/// if any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told(pub u32);

/// The bits that hold the reason.
const OF_REASON: u32 = 0xFF;

impl Told {
    /// The source is on no list.
    pub const UNLISTED: Self = Reason::Unlisted.told();

    /// True if this is the given reason.
    #[inline(always)]
    pub const fn is(self, reason: Reason) -> bool {
        self.0 & OF_REASON == reason as u32
    }

    /// The reason without its clause.
    #[inline(always)]
    pub const fn reason(self) -> Reason {
        let reason = Reason::of(self.0 & OF_REASON);
        // Sent packets are not told of, and the judge of received ones need not know this reason.
        if matches!(reason, Reason::Outbound) { Reason::Unlisted } else { reason }
    }

    /// This reason, reached by the clause in this slot.
    #[inline(always)]
    pub const fn by_clause(self, slot: Slot) -> Self {
        Self(self.0 & OF_REASON | (slot.number() as u32 + 1) << OF_REASON.count_ones())
    }

    /// True if a clause led to this reason.
    #[inline(always)]
    pub const fn is_by_clause(self) -> bool {
        self.0 > OF_REASON
    }

    /// The slot number of that clause. `u32::MAX` if no clause led to it.
    #[inline(always)]
    pub const fn slot(self) -> u32 {
        (self.0 >> OF_REASON.count_ones()).wrapping_sub(1)
    }
}

impl Reason {
    /// This reason as a number, without a clause.
    #[inline(always)]
    pub const fn told(self) -> Told {
        Told(self as u32)
    }

    /// The stable name of this reason in `stats` and its JSON output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unlisted => "unlisted",
            Self::NotIp => "not_ip",
            Self::Malformed => "malformed",
            Self::TooManyTags => "too_many_tags",
            Self::Address4 => "ipv4_address",
            Self::Network4 => "ipv4_prefix",
            Self::Net64 => "ipv6_64",
            Self::Other6 => "ipv6_other",
            Self::Neighbour => "neighbour",
            Self::Allowed => "allowed",
            Self::Reply => "reply",
            Self::OtherPort => "other_port",
            Self::LaterFragment => "later_fragment",
            Self::Outbound => "outbound",
        }
    }

    /// The meaning of this reason, in words for operators.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Unlisted => "its source is on no list",
            Self::NotIp => "it is neither IPv4 nor IPv6, but ARP, LLDP, PPPoE or the like",
            Self::Malformed => {
                "its headers end too early or contradict its type: the kernel's stack judges it"
            }
            Self::TooManyTags => "it has more than 8 VLAN tags, or more than 4 whose id is not 0",
            Self::Address4 => "its IPv4 address is listed",
            Self::Network4 => "an IPv4 prefix that covers its address is listed",
            Self::Net64 => "the IPv6 /64 that it comes from is listed",
            Self::Other6 => "its IPv6 address is listed, or a prefix that covers it and is no /64",
            Self::Neighbour => {
                "its IPv6 source is listed, but it is neighbour discovery, which unlisted hosts on the link need"
            }
            Self::Allowed => "its source is listed, but allowed",
            Self::Reply => "its source is listed, but this host began what it is part of (`match: new`)",
            Self::OtherPort => "its source is listed on some ports only, and it is sent to none of them",
            Self::LaterFragment => {
                "its source is listed on some ports only, and it is a later fragment, which tells no port"
            }
            Self::Outbound => "it is sent to an address that a list with `direction: out` or `both` holds",
        }
    }

    /// The verdict that follows from this reason.
    #[inline(always)]
    pub const fn verdict(self) -> Verdict {
        match self {
            Self::Unlisted
            | Self::NotIp
            | Self::Malformed
            | Self::Neighbour
            | Self::Allowed
            | Self::Reply
            | Self::OtherPort
            | Self::LaterFragment => Verdict::Pass(self),
            Self::TooManyTags
            | Self::Address4
            | Self::Network4
            | Self::Net64
            | Self::Other6
            | Self::Outbound => Verdict::Drop(self),
        }
    }
}

impl Verdict {
    /// The reason for this verdict.
    #[inline(always)]
    pub const fn reason(self) -> Reason {
        match self {
            Self::Pass(reason) | Self::Drop(reason) => reason,
        }
    }
}

impl Verdict {
    /// The verdict about a packet that this host sends or forwards, if its destination was judged as if it
    /// were a source. Only a listed destination is a reason to drop.
    #[inline(always)]
    pub const fn outbound(self) -> Self {
        match self {
            Self::Drop(Reason::Address4 | Reason::Network4 | Reason::Net64 | Reason::Other6) => {
                Self::Drop(Reason::Outbound)
            }
            Self::Pass(reason) | Self::Drop(reason) => Self::Pass(reason),
        }
    }

    /// The outcome of this verdict under this enforcement.
    #[inline(always)]
    pub const fn outcome(self, enforcement: Enforcement) -> Outcome {
        match (self, enforcement) {
            (Self::Pass(reason), _) => Outcome::Pass(reason),
            (Self::Drop(reason), Enforcement::Drop) => Outcome::Drop(reason),
            (Self::Drop(reason), Enforcement::Count) => Outcome::WouldDrop(reason),
            (Self::Drop(reason), Enforcement::Pause) => Outcome::Paused(reason),
        }
    }
}

impl Enforcement {
    /// The enforcement that this word stands for. An unwritten word drops nothing.
    #[inline(always)]
    pub const fn of(word: u64) -> Self {
        match word {
            1 => Self::Drop,
            2 => Self::Pause,
            _ => Self::Count,
        }
    }

    /// The enforcement at this moment, if a pause ends at `until`. Packets are dropped from that moment on,
    /// even if no daemon runs. The clock is read only during a pause.
    #[inline(always)]
    pub fn now(self, until: u64, clock: impl FnOnce() -> u64) -> Self {
        match self {
            Self::Pause if clock() >= until => Self::Drop,
            Self::Count | Self::Drop | Self::Pause => self,
        }
    }
}

impl Outcome {
    /// Every possible outcome: those of a filter that enforces, then those of one that only counts, then
    /// those of a paused one.
    pub fn all() -> impl Iterator<Item = Self> {
        let under = |enforcement| Reason::ALL.map(|reason| reason.verdict().outcome(enforcement)).into_iter();
        let only_counted = under(Enforcement::Count).chain(under(Enforcement::Pause));
        under(Enforcement::Drop).chain(only_counted.filter(|outcome| !matches!(outcome, Self::Pass(_))))
    }

    /// The counter of packets with this outcome. Its index never changes.
    #[inline(always)]
    pub const fn counter(self) -> u32 {
        match self {
            Self::Pass(reason) | Self::Drop(reason) => reason as u32,
            Self::WouldDrop(reason) => WOULD_DROP + reason as u32,
            Self::Paused(reason) => PAUSED + reason as u32,
        }
    }

    /// The reason for this outcome.
    #[inline(always)]
    pub const fn reason(self) -> Reason {
        match self {
            Self::Pass(reason) | Self::Drop(reason) | Self::WouldDrop(reason) | Self::Paused(reason) => {
                reason
            }
        }
    }

    /// The stable name of this outcome in `stats` and its JSON output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pass(_) => "pass",
            Self::Drop(_) => "drop",
            Self::WouldDrop(_) => "would_drop",
            Self::Paused(_) => "paused",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_outcome_has_a_counter_of_its_own() {
        let counters: std::collections::BTreeSet<u32> = Outcome::all().map(Outcome::counter).collect();
        assert_eq!(counters.len(), Outcome::all().count());
        assert_eq!(
            counters.len(),
            Reason::ALL.len() + 6 + 6,
            "what passes does so whether the filter enforces or not"
        );
        assert!(counters.last() < Some(&UNUSED));
    }

    #[test]
    fn enforcements_keep_their_numbers() {
        for enforcement in [Enforcement::Count, Enforcement::Drop, Enforcement::Pause] {
            assert_eq!(Enforcement::of(enforcement as u64), enforcement);
        }
        assert_eq!(Enforcement::of(3), Enforcement::Count);
    }

    /// Counters that an earlier version pinned are read by this version.
    #[test]
    fn every_reason_stands_at_its_own_number() {
        let numbers = Reason::ALL.map(|reason| reason as u32);
        assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 16]);
        Reason::ALL.into_iter().for_each(|reason| assert_eq!(Reason::of(reason as u32), reason));
    }
}
