//! One slot: a remainder above three flags.

/// What stands in a slot. The first flag is about the slot, the others are about the remainder in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slot(pub u64);

/// Somebody's quotient is this slot.
const OCCUPIED: u64 = 0b001;
/// It belongs to the run of the one before it.
const CONTINUATION: u64 = 0b010;
/// It does not stand where its quotient says.
const SHIFTED: u64 = 0b100;

impl Slot {
    /// Bits of flags.
    pub const FLAGS: u32 = 3;

    /// A remainder that stands at home, alone.
    pub const fn of(remainder: u64) -> Self {
        Self(remainder << Self::FLAGS)
    }

    pub const fn remainder(self) -> u64 {
        self.0 >> Self::FLAGS
    }

    /// What stands at home, or first in its run, has a slot that is somebody's or is shifted: so no flag, no remainder.
    pub const fn is_empty(self) -> bool {
        self.0 & (OCCUPIED | CONTINUATION | SHIFTED) == 0
    }

    pub const fn is_occupied(self) -> bool {
        self.0 & OCCUPIED != 0
    }

    pub const fn is_continuation(self) -> bool {
        self.0 & CONTINUATION != 0
    }

    pub const fn is_shifted(self) -> bool {
        self.0 & SHIFTED != 0
    }

    pub const fn occupied(self, yes: bool) -> Self {
        self.with(OCCUPIED, yes)
    }

    pub const fn continuation(self, yes: bool) -> Self {
        self.with(CONTINUATION, yes)
    }

    pub const fn shifted(self, yes: bool) -> Self {
        self.with(SHIFTED, yes)
    }

    /// The same remainder in a slot that is somebody's if `other` is.
    pub const fn occupied_as(self, other: Self) -> Self {
        self.occupied(other.is_occupied())
    }

    const fn with(self, flag: u64, yes: bool) -> Self {
        Self(self.0 & !flag | if yes { flag } else { 0 })
    }
}
