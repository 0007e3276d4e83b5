//! Limits the memory of maps that the broker makes. A map lives as long as its descriptors. A hijacked daemon
//! could have maps made and discarded again and again, and keep all descriptors. Discarded maps therefore
//! still count for a while.

use std::time::{Duration, Instant};

use super::super::KernelError;
use super::size::MOST_BYTES;

/// Discarded bytes that count as freed each minute, at least. If more memory than this is in use, that amount
/// counts instead, so that every table can be rebuilt once a minute.
const LEAST_A_MINUTE: u64 = 64 << 20;

const MINUTE: Duration = Duration::from_secs(60);

/// Maps may take this many quarters of the machine's memory together.
const QUARTERS: u64 = 3;

/// This part of the memory, a sixteenth, stays free. Taking the last of it would kill other programs.
const STAYS_FREE: u64 = 16;

/// Memory of kept maps, and of discarded maps that may not be freed yet.
#[derive(Debug)]
pub struct MemoryLimit {
    /// Bytes of kept maps at the last count.
    kept: u64,
    /// Bytes of discarded maps.
    discarded: u64,
    since: Instant,
    /// The limit of both together, in bytes.
    most: u64,
    /// Bytes that must stay free.
    floor: u64,
}

impl MemoryLimit {
    /// Starts with the machine's memory. If it is unknown, only the limit of all tables applies.
    pub fn begin(machine: Option<u64>, now: Instant) -> Self {
        let most = machine.map_or(MOST_BYTES, |bytes| MOST_BYTES.min(bytes / 4 * QUARTERS));
        Self { kept: 0, discarded: 0, since: now, most, floor: machine.unwrap_or(0) / STAYS_FREE }
    }

    /// Records the bytes that are kept now. A decrease counts as discarded.
    pub fn count(&mut self, kept: u64, now: Instant) {
        let minutes = now.saturating_duration_since(self.since).as_secs_f64() / MINUTE.as_secs_f64();
        let freed = (minutes * self.kept.max(LEAST_A_MINUTE) as f64) as u64;
        self.since = now;
        self.discarded = self.discarded.saturating_sub(freed) + self.kept.saturating_sub(kept);
        self.kept = kept;
    }

    /// Counts bytes of an object that is not among the kept maps.
    pub fn made_aside(&mut self, bytes: u64) {
        self.discarded += bytes;
    }

    /// Checks whether this many more bytes may be made. `free` is the machine's free memory, if known.
    pub fn may_make(&self, name: &str, bytes: u64, free: Option<u64>) -> Result<(), KernelError> {
        let what = format!("make {name}");
        if self.kept.saturating_add(self.discarded).saturating_add(bytes) > self.most {
            let why = format!(
                "maps of {} bytes are there or were discarded in the last minutes, and {} may be",
                self.kept + self.discarded,
                self.most
            );
            return Err(KernelError::refused(&what, &why));
        }
        match free {
            Some(free) if free < bytes.saturating_add(self.floor) => Err(KernelError::NoMemory {
                name: name.to_owned(),
                bytes,
                reason: format!("{free} bytes are free, of which {} are left to others", self.floor),
            }),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEBIBYTE: u64 = 1 << 20;

    fn ration() -> (MemoryLimit, Instant) {
        let now = Instant::now();
        (MemoryLimit::begin(Some(1024 * MEBIBYTE), now), now)
    }

    #[test]
    fn repeated_make_and_discard_is_refused() {
        let (mut ration, now) = ration();
        let map = 32 * MEBIBYTE;
        let made = (0..).take_while(|_| {
            let may = ration.may_make("addresses", map, None).is_ok();
            ration.count(map, now);
            ration.count(0, now);
            may
        });
        assert_eq!(made.count(), 24, "768 MiB of a machine with 1,024");
        // After a minute there is room for two more.
        ration.count(0, now + MINUTE);
        assert!(ration.may_make("addresses", map, None).is_ok());
        ration.count(2 * map, now + MINUTE);
        assert!(ration.may_make("addresses", map, None).is_err());
    }

    #[test]
    fn all_tables_can_be_rebuilt_every_minute() {
        let (mut ration, mut now) = ration();
        let all = 300 * MEBIBYTE;
        ration.count(all, now);
        for _ in 0..100 {
            ration.may_make("addresses", all, None).unwrap();
            ration.count(2 * all, now);
            ration.count(all, now);
            now += MINUTE;
            ration.count(all, now);
        }
    }

    #[test]
    fn last_free_memory_is_left_to_others() {
        let (ration, _) = ration();
        ration.may_make("addresses", MEBIBYTE, Some(65 * MEBIBYTE)).unwrap();
        let refused = ration.may_make("addresses", MEBIBYTE, Some(65 * MEBIBYTE - 1)).unwrap_err();
        assert!(matches!(refused, KernelError::NoMemory { .. }), "{refused}");
    }

    #[test]
    fn rings_count_as_discarded_memory() {
        let (mut ration, now) = ration();
        (0..768).for_each(|_| ration.made_aside(MEBIBYTE));
        assert!(ration.may_make("samples", MEBIBYTE, None).is_err());
        ration.count(0, now + MINUTE);
        ration.may_make("samples", MEBIBYTE, None).unwrap();
    }
}
