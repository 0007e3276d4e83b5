//! A stale label, planted on purpose in the map from which the kernel reads for which list a packet counts: a life that does
//! not find it looks at nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::thread;

use aya::maps::{Array, Map, MapData};
use filter_common::labels::pages;
use filter_common::levels::{self, labels::directory};

use super::Life;
use super::asking::Term;
use super::batch::Batch;
use super::prefix::Prefix;

/// Bytes of the smallest map of labels beside slots, of that of levels, and of that of IPv4 prefixes.
const BESIDE_SLOTS: usize = 4608;
const OF_LEVELS: usize = with_a_directory(directory(levels::size::SMALLEST));
const OF_NETWORKS: usize = with_a_directory(pages::DIRECTORY4);

/// Nobody makes way for so many, one after the other, in tables that are all but empty.
const MOST_TRIED: u128 = 20;

/// Where a label is planted: each kind of target has labels of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planted {
    /// Of an IPv4 address.
    Address,
    /// Of an IPv4 prefix.
    Network,
    /// Of a /64.
    Net64,
    /// Of an IPv6 prefix that the levels tell.
    Level,
}

impl Planted {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Address, Self::Network, Self::Net64, Self::Level];

    fn map(self) -> &'static str {
        match self {
            Self::Address => "addr_labels",
            Self::Network => "net_labels",
            Self::Net64 => "six_labels",
            Self::Level => "level_labels",
        }
    }

    /// Who may turn out to have the label.
    pub fn addresses(self) -> impl Iterator<Item = String> {
        (2..MOST_TRIED).map(move |number| self.target(number).to_string().split('/').take(1).collect())
    }

    /// One of this kind, far from where anybody lives.
    fn target(self, number: u128) -> Prefix {
        let (four, six) = (|place: u128| 0xc612_0000 | place << 8, |place: u128| 0x3fff << 112 | place << 64);
        match self {
            Self::Address => Prefix::host(false, four(number)),
            // In a page of its own.
            Self::Network => Prefix::around(false, four(3 + 257 * (number - 1)), 24),
            Self::Net64 => Prefix::around(true, six(number), 64),
            Self::Level => Prefix::around(true, six(number << 40), 24),
        }
    }
}

impl Life {
    /// Targets are added to a live list, and the label of the last is made that of another list. Tells which.
    pub(super) fn plant(&mut self, planted: Planted) -> Vec<Prefix> {
        self.add_far(planted, 1);
        for number in 2..MOST_TRIED {
            let before = self.labels(planted);
            self.add_far(planted, number);
            let after = self.labels(planted);
            // Whoever had to make way has taken his label along: then it is not plain whose is whose.
            if let [(pin, place, label)] = changed(&before, &after)[..] {
                let mut labels = after[pin].clone();
                labels[place] = if label == 1 { 2 } else { 1 };
                self.note(format!(
                    "the label {label} at {place} of {} becomes {}",
                    pin.display(),
                    labels[place]
                ));
                write(pin, labels);
                return vec![planted.target(number)];
            }
        }
        panic!("somebody had to make way for each of {MOST_TRIED}");
    }

    fn add_far(&mut self, planted: Planted, number: u128) {
        let targets = Batch::of(vec![planted.target(number)], "target, for a label to be planted");
        self.add_batch("ssh", &targets, Term::PERMANENT);
    }

    /// The labels of this kind, of each table that is pinned.
    fn labels(&self, planted: Planted) -> BTreeMap<PathBuf, Vec<u8>> {
        let tables = fs::read_dir(self.net.home().pins().join("tables")).expect("tables are pinned");
        let pins = tables.map(|entry| entry.expect("it can be read").path());
        let is_one = |pin: &PathBuf| {
            let name = pin.file_name().unwrap_or_default().to_string_lossy();
            name.strip_suffix(|last: char| last.is_ascii_digit()).is_some() && name.starts_with(planted.map())
        };
        pins.filter(is_one).map(|pin| (pin.clone(), read(&pin))).collect()
    }
}

/// Which labels are others than before.
fn changed<'a>(
    before: &BTreeMap<PathBuf, Vec<u8>>,
    after: &'a BTreeMap<PathBuf, Vec<u8>>,
) -> Vec<(&'a PathBuf, usize, u8)> {
    let of_table = |(pin, labels): (&'a PathBuf, &'a Vec<u8>)| {
        let before = before.get(pin).expect("no table was made anew");
        let places = (0..labels.len()).filter(|place| labels[*place] != before[*place]);
        places.map(|place| (pin, place, labels[place])).collect::<Vec<_>>()
    };
    after.iter().flat_map(of_table).collect()
}

fn read(pin: &PathBuf) -> Vec<u8> {
    with_room(|| match size(pin) {
        BESIDE_SLOTS => map::<BESIDE_SLOTS>(pin).get(&0, 0).expect("it can be read").to_vec(),
        OF_LEVELS => map::<OF_LEVELS>(pin).get(&0, 0).expect("it can be read").to_vec(),
        _ => map::<OF_NETWORKS>(pin).get(&0, 0).expect("it can be read").to_vec(),
    })
}

fn write(pin: &PathBuf, labels: Vec<u8>) {
    const FITS: &str = "it was read from there";
    with_room(|| match size(pin) {
        BESIDE_SLOTS => map::<BESIDE_SLOTS>(pin).set(0, array(labels).expect(FITS), 0),
        OF_LEVELS => map::<OF_LEVELS>(pin).set(0, array(labels).expect(FITS), 0),
        _ => map::<OF_NETWORKS>(pin).set(0, array(labels).expect(FITS), 0),
    })
    .expect("root may write maps");
}

const fn with_a_directory(words: u32) -> usize {
    pages::words(words, *pages::SIZES.start()) as usize * size_of::<u64>()
}

/// A map's value lies on the stack, several times over.
fn with_room<T: Send>(act: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let builder = thread::Builder::new().stack_size(64 << 20);
        let thread = builder.spawn_scoped(scope, act).expect("there is memory");
        thread.join().expect("it does not panic")
    })
}

fn array<const SIZE: usize>(labels: Vec<u8>) -> Option<[u8; SIZE]> {
    labels.try_into().ok()
}

fn size(pin: &PathBuf) -> usize {
    let data = MapData::from_pin(pin).expect("it is pinned");
    data.info().expect("it tells").value_size() as usize
}

fn map<const SIZE: usize>(pin: &PathBuf) -> Array<MapData, [u8; SIZE]> {
    let data = MapData::from_pin(pin).expect("it is pinned");
    Array::try_from(Map::Array(data)).expect("labels are one value of this size")
}
