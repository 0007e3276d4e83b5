//! Answers questions about the published filter, from the same words and settings that packets meet.

use filter_common::judge::{Tables, judge_source, judge_with_ports};
use filter_common::labels::{self, Label};
use filter_common::packet::Source;
use filter_common::ports::Clause;
use filter_common::reason::{Outcome, Reason, Told, Verdict};
use filter_common::sets::{PerSet, SetName, Slot};

use super::Filter;
use crate::kernel::broker::counts::PacketCounts;
use crate::kernel::broker::request::{Reply, Request};
use crate::kernel::seen::{PublishedTables, SentTables, SetWindows};
use crate::kernel::window::Window;
use crate::kernel::{KernelError, ListCount, Occupancy};

impl Filter {
    /// The verdict that a packet from `source` gets now: the program's own decision on the program's own
    /// tables.
    pub fn judge(&self, source: Source) -> Verdict {
        self.seen().map_or(Reason::Unlisted.verdict(), |seen| judge_source(source, &seen))
    }

    /// The verdict that a packet to this address gets now. It is judged as if it were a source.
    pub fn judge_sent(&self, destination: Source) -> Verdict {
        let judged = |seen| judge_source(destination, &SentTables(seen)).outbound();
        self.seen().map_or(Reason::Unlisted.verdict(), judged)
    }

    /// The clauses that drop a packet from `source` if they match its port. For sources that are not dropped
    /// on all ports.
    pub fn clauses_of(&self, source: Source) -> Vec<Clause> {
        let (Some(seen), Some(published)) = (self.seen(), self.judges.published()) else { return Vec::new() };
        let is_allowed = match source {
            Source::V4(address) => seen.may_overlap() && seen.allows4(address),
            Source::V6(address) => seen.may_overlap() && seen.allows6(address),
            Source::NotIp | Source::Malformed | Source::TooManyTags => return Vec::new(),
        };
        let holds = |slot: &Slot| match source {
            Source::V4(address) => seen.holds4(*slot, address) != Told::UNLISTED,
            Source::V6(address) => seen.holds6(*slot, address) != Told::UNLISTED,
            Source::NotIp | Source::Malformed | Source::TooManyTags => false,
        };
        let slots = Slot::all().filter(|slot| !is_allowed && holds(slot));
        slots.filter_map(|slot| published.clauses[slot.number()]).collect()
    }

    /// The verdict for a whole frame.
    pub fn judge_frame(&self, frame: &[u8]) -> Verdict {
        self.seen().map_or(Reason::Unlisted.verdict(), |seen| judge_with_ports(frame, &seen))
    }

    /// The list that a packet from `source` counts for, if it is blocked.
    /// [`OTHER`](filter_common::labels::OTHER) while packets are not counted by list.
    pub fn label(&self, source: Source) -> Option<Label> {
        self.seen()?.label(source)
    }

    pub(super) fn seen(&self) -> Option<PublishedTables<'_>> {
        let settings = self.judges.published()?.words();
        let sets = PerSet::from_fn(|name| self.sets[name].windows());
        let labels = PerSet::from_fn(|name| self.sets[name].labels());
        Some(PublishedTables { settings, sets, overlap: self.overlap.words(), labels })
    }

    /// Packets by outcome since the filter was first attached.
    pub fn counters(&mut self) -> Result<Vec<(Outcome, u64)>, KernelError> {
        Ok(Outcome::all().zip(self.counted()?.packets).collect())
    }

    /// All counters, in total and by interface.
    pub fn counted(&mut self) -> Result<PacketCounts, KernelError> {
        match self.maps.broker().ask(Request::Count)? {
            (Reply::Counted(counts), _) => Ok(counts),
            _ => Err(KernelError::broker_gone("its answers are out of order")),
        }
    }

    /// Packets for each label since these counters were made. All zero while packets are not counted by list.
    pub fn list_counters(&self) -> Vec<ListCount> {
        self.lists.read()
    }

    /// Kernel memory of the list counters in bytes, and their number. None while packets are not counted by
    /// list.
    pub fn list_counters_bytes(&self) -> Option<(u64, u64)> {
        Some((self.lists.bytes()?, u64::from(labels::LAST) + 1))
    }

    /// Resets the counters of one label, so that its number can be given to another list.
    pub fn zero_list(&mut self, label: Label) {
        self.lists.zero(label);
    }

    pub fn addresses(&self) -> Occupancy {
        self.sets.block.addresses.occupancy()
    }

    /// How full the tables of allowed IPv4 addresses and IPv6 prefixes are.
    pub fn allowed(&self) -> [Occupancy; 2] {
        [self.sets.allow.addresses.occupancy(), self.sets.allow.six.occupancy()]
    }

    /// How full the tables of one set are, and the memory of its prefixes.
    pub fn occupancy_of(&self, name: SetName) -> ([Occupancy; 2], [u64; 2]) {
        let set = &self.sets[name];
        let SetWindows { networks, levels, .. } = set.windows();
        let bytes = |window: Option<&Window>, labels: Option<&Window>| {
            window.map_or(0, Window::bytes) + labels.map_or(0, Window::bytes)
        };
        let prefixes = [bytes(networks, set.networks.labels()), bytes(levels, set.levels.labels())];
        ([set.addresses.occupancy(), set.six.occupancy()], prefixes)
    }

    /// Kernel memory of everything that is allowed, in bytes; zero while nothing is.
    pub fn allowed_bytes(&self) -> u64 {
        let SetWindows { addresses, networks, levels, six } = self.sets.allow.windows();
        let words = [addresses, networks, levels, six, self.overlap.words()];
        words.into_iter().flatten().map(Window::bytes).sum()
    }

    /// Kernel memory of allowed prefixes: of IPv4, and of the IPv6 levels.
    pub fn allowed_prefixes_bytes(&self) -> [u64; 2] {
        let SetWindows { networks, levels, .. } = self.sets.allow.windows();
        [networks, levels].map(|window| window.map_or(0, Window::bytes))
    }

    /// IPv4 addresses that have moved within their table while packets read it.
    pub fn moves(&self) -> u64 {
        self.sets.block.addresses.store.current_live().map_or(0, |live| live.moves())
    }

    /// IPv6 prefixes that have moved within their table while packets read it.
    pub fn moves6(&self) -> u64 {
        self.sets.block.six.store.current_live().map_or(0, |live| live.moves())
    }

    /// Kernel memory of the IPv6 levels, in bytes.
    pub fn levels_bytes(&self) -> u64 {
        let labels = self.sets.block.levels.labels().map_or(0, Window::bytes);
        self.sets.block.levels.words().map_or(0, |window| window.bytes() + labels)
    }

    /// How full the table of IPv6 prefixes is. Many prefixes up to /32 are bits of the levels, and in no
    /// table.
    pub fn six(&self) -> Occupancy {
        self.sets.block.six.occupancy()
    }

    /// Kernel memory of IPv4 prefixes, in bytes.
    pub fn networks_bytes(&self) -> u64 {
        let labels = self.sets.block.networks.labels().map_or(0, Window::bytes);
        self.sets.block.networks.words().map_or(0, |window| window.bytes() + labels)
    }
}
