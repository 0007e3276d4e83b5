//! The places where an entry may be: two homes, each a bucket and the code that identifies the entry there.

/// A possible position of an entry: the bucket, and the code that identifies the entry in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Home {
    /// The number of the bucket.
    pub bucket: u32,
    /// The code stored there, which is never zero.
    pub code: u64,
}

/// The identity of an entry in its table's stash: bits aligned to the top, and the kind of entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// Never zero, and less than 2^9.
    pub kind: u64,
    /// The bits, aligned to the top.
    pub bits: u64,
}

/// The kind of all entries in a table that has only one kind.
pub const ONE_KIND: u64 = 1;

/// Gives entries their homes.
pub trait Scheme {
    /// The type of a looked-up key.
    type Key: Copy;

    /// The two homes of `key`; the same home twice if it has only one.
    fn homes(&self, key: Self::Key) -> [Home; 2];

    /// The other home of the entry in this home.
    fn other(&self, home: Home) -> Home;

    /// True if this is certainly the first of two homes of its entry. Packets look into first homes first, so
    /// such an entry may move to its second home while packets read. A reader that finds the first home empty
    /// then reads the second home after the entry has arrived there.
    fn is_first(&self, home: Home) -> bool;

    /// The token of `key` in a stash.
    fn token(&self, key: Self::Key) -> Token;

    /// The stash token of the entry in `home`.
    fn token_at(&self, home: Home) -> Token;
}
