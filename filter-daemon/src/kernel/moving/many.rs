//! Many that enter at once: their homes are worked out once and fetched together, so that memory is waited for once, not
//! once for each of them.

use filter_common::WordsMut;
use filter_common::cuckoo::Full;
use filter_common::cuckoo::scheme::{Home, Scheme};

use super::Moving;

/// Keys whose homes are fetched together: few enough that what is fetched for them stays near.
const AT_ONCE: usize = 64;

/// Does anybody read the table while they enter?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// Packets do.
    Packets,
    /// Nobody does yet.
    Nobody,
}

impl<S, W> Moving<S, W>
where
    S: Scheme + Copy,
    S::Key: PartialEq,
    W: WordsMut,
{
    /// Lets all `keys` in, unless they are there. Gives back the numbers of those for whom there is no room.
    pub fn enter_all(&mut self, keys: impl Iterator<Item = S::Key>, readers: Readers) -> Vec<usize> {
        let mut keys = keys.enumerate();
        let (mut together, mut refused) = (Vec::with_capacity(AT_ONCE), Vec::new());
        loop {
            let homes = |(number, key)| (number, key, self.table.scheme().homes(key));
            together.extend(keys.by_ref().take(AT_ONCE).map(homes));
            if together.is_empty() {
                return refused;
            }
            together.iter().for_each(|(_, _, homes)| self.table.prefetch_homes(homes));
            for (number, key, homes) in together.drain(..) {
                if self.enter_at(key, homes, readers).is_err() {
                    refused.push(number);
                }
            }
        }
    }

    fn enter_at(&mut self, key: S::Key, homes: [Home; 2], readers: Readers) -> Result<(), Full> {
        if self.is_at(key, homes) {
            return Ok(());
        }
        match readers {
            Readers::Packets => self.add_at(key, homes),
            Readers::Nobody => self.fill_at(homes),
        }
    }
}
