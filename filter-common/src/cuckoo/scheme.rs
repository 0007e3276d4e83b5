//! Where an entry may stand: two homes, each a bucket and the code that says there who it is.

/// A place for an entry: the bucket, and the code that stands for the entry in that bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Home {
    /// Number of the bucket.
    pub bucket: u32,
    /// What is stored there; never zero.
    pub code: u64,
}

/// An entry's name in its table's stash: bits aligned to the top, and which kind of entry they name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// Never zero, and less than 2^9.
    pub kind: u64,
    /// The bits.
    pub bits: u64,
}

/// The kind of all entries of a table that has but one.
pub const ONE_KIND: u64 = 1;

/// How entries find their homes.
pub trait Scheme {
    /// What is looked up.
    type Key: Copy;

    /// The two homes of `key`; the same one twice where it has only one.
    fn homes(&self, key: Self::Key) -> [Home; 2];

    /// The other home of the entry that stands in this one.
    fn other(&self, home: Home) -> Home;

    /// Is this known to be the first home of what stands there, and not the only one? Packets look into first homes first,
    /// so an entry may move on to its second home under their eyes: whoever finds the first one empty, comes to the
    /// second one in time.
    fn is_first(&self, home: Home) -> bool;

    /// The name of `key` in a stash.
    fn token(&self, key: Self::Key) -> Token;

    /// The name in a stash of the entry that stands in `home`.
    fn token_at(&self, home: Home) -> Token;
}
