//! Reads sampled drops from a ring buffer. Judges write to it while a client watches. The broker makes the
//! ring and passes its descriptor. Reading it needs no privilege.

use aya::maps::{Map, MapData, RingBuf};
use filter_common::counters;
use filter_common::labels::Label;
use filter_common::reason::Outcome;
use filter_common::sampling::{HEAD, MOST_BUDGET, NO_LABEL, RECORD};

use super::KernelError;
use super::broker::Broker;
use super::broker::processors;
use super::broker::request::Request;

/// Samples that all processors together may take in a time window. Each processor may take at least
/// [`LEAST`].
const ALL: u64 = 256;
const LEAST: u64 = 8;

pub struct Samples(RingBuf<MapData>);

#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Time of the drop in nanoseconds since boot, suspend included.
    pub at: u64,
    /// The number of drops that this sample stands for.
    pub weight: u64,
    /// Drops before this one that no sample stands for, because the ring was full.
    pub lost: u64,
    /// The index of the interface that received it.
    pub interface: u32,
    /// Length of the whole frame.
    pub bytes: u32,
    pub outcome: Outcome,
    /// The label of the list that it counts for, if packets are counted by list.
    pub label: Option<Label>,
    pub frame: Vec<u8>,
}

/// The number of samples that a judge takes per processor in a time window.
pub fn budget() -> u64 {
    (ALL / u64::from(processors::rows())).clamp(LEAST, MOST_BUDGET)
}

impl Samples {
    /// Asks `broker` to make the ring.
    pub fn ask(broker: &mut Broker) -> Result<Self, KernelError> {
        let (_, ring) = broker.ask(Request::Samples)?;
        let ring = ring.ok_or_else(|| KernelError::broker_gone("it made a ring and kept it"))?;
        let failed = |error: &(dyn std::error::Error + 'static)| {
            KernelError::load_of("open the ring of samples", error)
        };
        let ring = MapData::from_fd(ring).map_err(|error| failed(&error))?;
        RingBuf::try_from(Map::RingBuf(ring)).map(Self).map_err(|error| failed(&error))
    }

    /// Returns the samples written since the last call, at most `most`.
    pub fn take(&mut self, most: usize) -> Vec<Sample> {
        let mut taken = Vec::new();
        while taken.len() < most
            && let Some(record) = self.0.next()
        {
            taken.extend(read(&record));
        }
        taken
    }
}

/// Parses a record as the BPF program writes it (`filter-ebpf/samples`).
fn read(record: &[u8]) -> Option<Sample> {
    let (head, frame) = record.get(..RECORD)?.split_at(HEAD * size_of::<u64>());
    let mut words = head.chunks_exact(size_of::<u64>()).filter_map(|word| word.try_into().ok());
    let mut word = || words.next().map(u64::from_ne_bytes);
    let (at, weight, lost, size, what) = (word()?, word()?, word()?, word()?, word()?);
    let number = (what >> 16 & 0xFFFF) as u32;
    let outcome = Outcome::all().find(|outcome| counters::drop_number(*outcome) == Some(number))?;
    let label = what >> 32;
    Some(Sample {
        at,
        weight,
        lost,
        interface: (size >> 32) as u32,
        bytes: size as u32,
        outcome,
        label: (label < NO_LABEL).then_some(label as Label),
        frame: frame.get(..(what & 0xFFFF) as usize)?.to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use filter_common::reason::Reason;

    use super::*;

    #[test]
    fn record_is_parsed_as_written() {
        let outcome = Outcome::WouldDrop(Reason::Net64);
        let number = u64::from(counters::drop_number(outcome).unwrap());
        let words = [7_u64, 64, 3, 5 << 32 | 1514, 9 << 32 | number << 16 | 60];
        let mut record = words.map(u64::to_ne_bytes).concat();
        record.resize(RECORD, 0xAB);
        let sample = read(&record).unwrap();
        let expected = Sample {
            at: 7,
            weight: 64,
            lost: 3,
            interface: 5,
            bytes: 1514,
            outcome,
            label: Some(9),
            frame: vec![0xAB; 60],
        };
        assert_eq!(sample, expected);
        assert_eq!(read(&record[..RECORD - 1]), None, "it is not whole");
        let none = [7_u64, 64, 3, 0, NO_LABEL << 32 | number << 16].map(u64::to_ne_bytes).concat();
        record[..none.len()].copy_from_slice(&none);
        assert_eq!(read(&record).unwrap().label, None);
    }
}
