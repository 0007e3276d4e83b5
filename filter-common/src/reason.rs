//! What becomes of a packet, and the reasons there can be.

/// What becomes of a packet, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It goes on to the kernel's stack.
    Pass(Reason),
    /// It is dropped, unless the filter only counts.
    Drop(Reason),
}

/// Why a packet is passed or dropped. The numbers are indices of the counters and never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Reason {
    /// Its source is on no list.
    Unlisted = 0,
    /// It is neither IPv4 nor IPv6.
    NotIp = 1,
    /// It ends too early, or its header contradicts its type.
    Malformed = 2,
    /// It has more VLAN tags than are looked behind.
    TooManyTags = 3,
    /// Its IPv4 address is listed.
    Address4 = 4,
    /// An IPv4 prefix up to /24 that covers it is listed.
    Network4 = 5,
    /// The IPv6 /64 it comes from is listed.
    Net64 = 6,
    /// Its IPv6 address, or a prefix of another length that covers it, is listed.
    Other6 = 7,
    /// Its IPv6 source is listed, but it is neighbour discovery: without that, unlisted hosts on the same link could not
    /// be reached either.
    Neighbour = 8,
}

impl Reason {
    /// Every reason, in the order of the counters.
    pub const ALL: [Self; 9] = [
        Self::Unlisted,
        Self::NotIp,
        Self::Malformed,
        Self::TooManyTags,
        Self::Address4,
        Self::Network4,
        Self::Net64,
        Self::Other6,
        Self::Neighbour,
    ];

    /// The stable name under which `stats` and its JSON tell it.
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
        }
    }

    /// What it means for the packet.
    #[inline(always)]
    pub const fn verdict(self) -> Verdict {
        match self {
            Self::Unlisted | Self::NotIp | Self::Malformed | Self::TooManyTags | Self::Neighbour => {
                Verdict::Pass(self)
            }
            Self::Address4 | Self::Network4 | Self::Net64 | Self::Other6 => Verdict::Drop(self),
        }
    }
}

impl Verdict {
    /// The reason that led to it.
    #[inline(always)]
    pub const fn reason(self) -> Reason {
        match self {
            Self::Pass(reason) | Self::Drop(reason) => reason,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counters that an earlier version pinned are read by this one.
    #[test]
    fn every_reason_stands_at_its_own_counter() {
        for (index, reason) in Reason::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, index, "{}", reason.name());
        }
    }
}
