//! SHA-256 digests, which name blobs.

use std::fmt;
use std::str::FromStr;

use ring_crypto::digest::{Context, SHA256};

/// The SHA-256 of some bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of these bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        let mut sum = DigestSum::default();
        sum.update(bytes);
        sum.digest()
    }
}

/// The digest of bytes that come one after another.
#[derive(Clone)]
pub struct DigestSum(Box<Context>);

impl Default for DigestSum {
    fn default() -> Self {
        Self(Box::new(Context::new(&SHA256)))
    }
}

impl DigestSum {
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest of all bytes so far.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let mut digest = [0; 32];
        digest.copy_from_slice((*self.0).clone().finish().as_ref());
        Digest(digest)
    }
}

impl fmt::Debug for DigestSum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.digest(), f)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The digest in hexadecimal digits, as `sha256sum` prints it.
impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for Digest {
    type Err = ();

    fn from_str(digits: &str) -> Result<Self, ()> {
        if digits.len() != 64 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(());
        }
        let byte = |at: usize| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).map_err(drop);
        let mut digest = [0; 32];
        for (at, place) in digest.iter_mut().enumerate() {
            *place = byte(at)?;
        }
        Ok(Self(digest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_is_that_of_sha256sum() {
        let digits = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(Digest::of(b"abc").to_string(), digits);
        assert_eq!(digits.parse(), Ok(Digest::of(b"abc")));
        for wrong in ["", &digits[1..], &digits.replace('a', "g"), "ä"] {
            assert_eq!(wrong.parse::<Digest>(), Err(()), "{wrong}");
        }
    }
}
