//! What came out of loading lists.

use filterd_measure::figures::Figures;
use filterd_measure::machine;
use filterd_measure::tables::{Table, grouped};
use pages::page::{Chapter, Page};

use super::bulk::Bulk;
use super::scrape::{self, Scrape};
use super::six::{self, Six};
use super::size::{self, Size};
use super::waits::Wait;

/// A list that was loaded.
#[derive(Clone, Debug)]
pub struct Fill {
    pub way: &'static str,
    pub entries: u32,
    /// One for each time.
    pub seconds: Vec<f64>,
    /// Of the kernel's memory, where that is known.
    pub bytes: Option<u64>,
}

/// One more address.
#[derive(Debug)]
pub struct Single {
    pub way: &'static str,
    pub entries: u32,
    pub microseconds: Figures,
}

/// All of it.
#[derive(Debug, Default)]
pub struct Outcome {
    pub fills: Vec<Fill>,
    pub singles: Vec<Single>,
    pub bulks: Vec<Bulk>,
    pub waits: Vec<Wait>,
    pub six: Vec<Six>,
    pub size: Option<Size>,
    pub scrape: Option<Scrape>,
}

/// The same fills of several rounds as one; of their sizes the middle one, since others use the memory, too.
pub fn merged(rounds: &[Vec<Fill>]) -> Vec<Fill> {
    let merge = |at: usize| {
        let each = || rounds.iter().map(move |round| &round[at]);
        let mut bytes: Vec<u64> = each().filter_map(|fill| fill.bytes).collect();
        bytes.sort_unstable();
        let seconds = each().flat_map(|fill| fill.seconds.iter().copied()).collect();
        Fill { seconds, bytes: bytes.get(bytes.len() / 2).copied(), ..rounds[0][at].clone() }
    };
    (0..rounds[0].len()).map(merge).collect()
}

/// What is told.
pub fn page(outcome: &Outcome) -> Page {
    Page {
        title: "Loading lists".to_owned(),
        command: "cargo xtask bench load".to_owned(),
        machine: machine::describe(),
        method: METHOD.to_owned(),
        chapters: vec![
            Chapter::of("Lists", LISTS, outcome.seconds()),
            Chapter::of("Memory", MEMORY, outcome.bytes()),
            Chapter::of("One more address", ONE_MORE, outcome.singles()),
            Chapter::of("A million changes", BULK, outcome.bulks()),
            Chapter::of("Answers during a million changes", WAITS, outcome.waits()),
            Chapter::of("All lists at once", SIZE, size::table(outcome.size.as_ref())),
            Chapter::of("Monitoring", SCRAPE, scrape::table(outcome.scrape.as_ref())),
            Chapter::of("IPv6 lists", SIX, six::table(&outcome.six)),
            Chapter::of("Goals", "Of medians.", super::goals::table(outcome)),
        ],
    }
}

/// What is told of lists of IPv6 alone.
pub fn page_of_six(outcome: &Outcome) -> Page {
    Page {
        title: "Loading IPv6 lists".to_owned(),
        command: "cargo xtask bench load --real".to_owned(),
        machine: machine::describe(),
        method: METHOD.to_owned(),
        chapters: vec![
            Chapter::of("IPv6 lists", SIX, six::table(&outcome.six)),
            Chapter::of("Goals", "", super::goals::table(outcome)),
        ],
    }
}

const METHOD: &str = "Times are medians of wall-clock time. filterd is the release build, and its daemon is \
                      running.";

const LISTS: &str = "Seconds from the start of the command to its end. The list is empty before. BPF maps are \
                     filled by one system call for each address.";

const MEMORY: &str = "For BPF maps: what the kernel charges for all maps. For ipset: what the tool reports. \
                      nft reports nothing, so its row is the growth of the kernel's own memory meanwhile.";

const ONE_MORE: &str = "Commands are timed from start to end. The rows of the socket use a connection to the \
                        daemon that is already open: twenty additions in a row, or one after a pause, when \
                        other processes have used the processors' caches. The echo waits for the same pause. \
                        A durable addition waits for a commit of the journal: seven writes and one fdatasync, \
                        which is the disk's own time.";

const BULK: &str = "From the start of the command to its end. During the flood the kernel makes and receives \
                    frames as fast as it can, in a thread that stays on one processor. On two processors the \
                    flood, the daemon and the command compete for them, so the last column shows the frames \
                    that the flood still had. Half of the frames come from the addresses that are added and \
                    removed, the other half from unlisted addresses.";

const WAITS: &str =
    "Meanwhile another connection adds single addresses, one after the other, until the million is answered.";

const SCRAPE: &str = "990 lists of 1,000 addresses each; a configuration may have 1,000 lists. The client \
                      asks for all series of them: `/metrics` over HTTP, timed from the connection to the \
                      last byte.";

const SIZE: &str = "Measured once each, from three files. A start ends when filterd is ready; packets are \
                    dropped before that. During the reload another connection adds single addresses.";

const SIX: &str = "Measured once each, from the start of `filterd reload` to its end. Meanwhile another \
                   connection adds single addresses: the longest answer shows how long the owner of the state \
                   was busy. The first IPv4 address that a filterd receives waits for a program that asks for \
                   addresses, so it has a column of its own; other clients are answered meanwhile. Live \
                   entries come from commands, while the table grows. The countries' prefixes are those of \
                   `tests/bench/real`.";

impl Outcome {
    /// The median of a way at a size.
    pub fn loaded(&self, way: &str, entries: u32) -> Option<f64> {
        Some(Figures::of(self.fill(way, entries)?.seconds.clone()).median)
    }

    /// Bytes an entry.
    pub fn each(&self, way: &str, entries: u32) -> Option<f64> {
        Some(self.fill(way, entries)?.bytes? as f64 / f64::from(entries))
    }

    /// The median of a way of adding one more, in microseconds.
    pub fn added(&self, way: &str, entries: u32) -> Option<f64> {
        Some(self.single(way, entries)?.microseconds.median)
    }

    fn fill(&self, way: &str, entries: u32) -> Option<&Fill> {
        self.fills.iter().find(|fill| fill.way == way && fill.entries == entries)
    }

    fn single(&self, way: &str, entries: u32) -> Option<&Single> {
        self.singles.iter().find(|single| single.way == way && single.entries == entries)
    }

    fn seconds(&self) -> Table {
        self.table("Seconds until a list filters", self.ways(), |way, entries| {
            Some(format!("{:.3}", self.loaded(way, entries)?))
        })
    }

    fn bytes(&self) -> Table {
        self.table("Bytes of the kernel's memory an entry", self.ways(), |way, entries| {
            Some(format!("{:.2}", self.each(way, entries)?))
        })
    }

    fn singles(&self) -> Table {
        let mut ways = Vec::new();
        self.singles.iter().for_each(|single| note(&mut ways, single.way));
        self.table("Microseconds to add one address", ways, |way, entries| {
            let figures = self.single(way, entries)?.microseconds;
            Some(format!("{:.0} ({:.0}…{:.0})", figures.median, figures.low, figures.high))
        })
    }

    fn bulks(&self) -> Table {
        let heads =
            ["a million changes by", "a second, no frames", "a second, flood", "frames a second meanwhile"];
        let cell = |figures: Figures| {
            let [median, low, high] =
                [figures.median, figures.low, figures.high].map(|each| grouped(each as u64));
            format!("{median} ({low}…{high})")
        };
        let row =
            |bulk: &Bulk| vec![bulk.way.to_owned(), cell(bulk.quiet), cell(bulk.flooded), cell(bulk.frames)];
        Table {
            title: "Changes a second".to_owned(),
            heads: heads.map(str::to_owned).into(),
            rows: self.bulks.iter().map(row).collect(),
        }
    }

    fn waits(&self) -> Table {
        let row = |wait: &Wait| {
            let [most, worst] = [wait.percentile_99, wait.worst].map(|each| format!("{each:.2}"));
            vec![wait.way.to_owned(), grouped(wait.answers as u64), most, worst]
        };
        Table {
            title: "Milliseconds until an answer".to_owned(),
            heads: ["while", "answers meanwhile", "99th percentile", "worst"].map(str::to_owned).into(),
            rows: self.waits.iter().map(row).collect(),
        }
    }

    fn ways(&self) -> Vec<&'static str> {
        let mut ways = Vec::new();
        self.fills.iter().for_each(|fill| note(&mut ways, fill.way));
        ways
    }

    fn table(
        &self,
        title: &str,
        ways: Vec<&'static str>,
        cell: impl Fn(&str, u32) -> Option<String>,
    ) -> Table {
        let mut sizes: Vec<u32> = self.fills.iter().map(|fill| fill.entries).collect();
        sizes.dedup();
        let row = |way: &'static str| {
            let cells = sizes.iter().map(|&size| cell(way, size).unwrap_or_default());
            [way.to_owned()].into_iter().chain(cells).collect()
        };
        let heads = sizes.iter().map(|&size| grouped(size.into()));
        Table {
            title: title.to_owned(),
            heads: ["entries".to_owned()].into_iter().chain(heads).collect(),
            rows: ways.into_iter().map(row).collect(),
        }
    }
}

fn note(ways: &mut Vec<&'static str>, way: &'static str) {
    if !ways.contains(&way) {
        ways.push(way);
    }
}
