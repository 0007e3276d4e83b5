//! Questions to what packets meet: the very words and settings that are published.

use filter_common::judge::{Tables, judge_source, judge_with_ports};
use filter_common::labels::{self, Label};
use filter_common::packet::Source;
use filter_common::ports::Clause;
use filter_common::reason::{Outcome, Reason, Told, Verdict};
use filter_common::sets::{PerSet, SetName, Slot};

use super::Filter;
use crate::kernel::broker::counts::Counts;
use crate::kernel::broker::request::{Answer, Request};
use crate::kernel::seen::{Seen, SetWindows};
use crate::kernel::window::Window;
use crate::kernel::{KernelError, ListCount, Occupancy};

impl Filter {
    /// What a packet from `source` meets right now: the program's own decision, made on the program's own tables.
    pub fn judge(&self, source: Source) -> Verdict {
        self.seen().map_or(Reason::Unlisted.verdict(), |seen| judge_source(source, &seen))
    }

    /// The clauses that drop a packet from `source`, which nothing drops on all ports, if they want its port.
    pub fn clauses_of(&self, source: Source) -> Vec<Clause> {
        let (Some(seen), Some(published)) = (self.seen(), &self.published) else { return Vec::new() };
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

    /// The same for a whole frame.
    pub fn judge_frame(&self, frame: &[u8]) -> Verdict {
        self.seen().map_or(Reason::Unlisted.verdict(), |seen| judge_with_ports(frame, &seen))
    }

    /// For which list a packet from `source` counts, if the set to block holds it; [`OTHER`](filter_common::labels::OTHER)
    /// while only all of them are counted together.
    pub fn label(&self, source: Source) -> Option<Label> {
        self.seen()?.label(source)
    }

    pub(super) fn seen(&self) -> Option<Seen<'_>> {
        let settings = self.published.as_ref()?.words();
        let sets = PerSet::from_fn(|name| self.sets[name].windows());
        let labels = PerSet::from_fn(|name| self.sets[name].labels());
        Some(Seen { settings, sets, overlap: self.overlap.words(), labels })
    }

    /// Of how many packets became what, since the filter was first attached.
    pub fn counters(&mut self) -> Result<Vec<(Outcome, u64)>, KernelError> {
        Ok(Outcome::all().zip(self.counted()?.packets).collect())
    }

    /// The same, and by interface.
    pub fn counted(&mut self) -> Result<Counts, KernelError> {
        match self.maps.broker().ask(Request::Count)? {
            (Answer::Counted(counts), _) => Ok(counts),
            _ => Err(KernelError::broker_gone("its answers are out of order")),
        }
    }

    /// How many packets were counted for each list since these counters were made: by label. All zero while only all of them
    /// are counted together.
    pub fn list_counters(&self) -> Vec<ListCount> {
        self.lists.read()
    }

    /// Kernel memory of these counters in bytes, and for how many lists there are any; none while all are counted together.
    pub fn list_counters_bytes(&self) -> Option<(u64, u64)> {
        Some((self.lists.bytes()?, u64::from(labels::LAST) + 1))
    }

    /// Lets the counters of one label begin anew: its number may be another list's then.
    pub fn zero_list(&mut self, label: Label) {
        self.lists.zero(label);
    }

    /// How full the table of IPv4 addresses is.
    pub fn addresses(&self) -> Occupancy {
        self.sets.block.addresses.occupancy()
    }

    /// How full the tables of what is allowed are: that of IPv4 addresses, and that of IPv6 prefixes.
    pub fn allowed(&self) -> [Occupancy; 2] {
        [self.sets.allow.addresses.occupancy(), self.sets.allow.six.occupancy()]
    }

    /// The same of what is blocked on the ports of one clause, and the memory of its prefixes.
    pub fn on_ports(&self, slot: Slot) -> ([Occupancy; 2], [u64; 2]) {
        let set = &self.sets[SetName::Clause(slot)];
        let SetWindows { networks, levels, .. } = set.windows();
        let bytes = |window: Option<&Window>, labels: Option<&Window>| {
            window.map_or(0, Window::bytes) + labels.map_or(0, Window::bytes)
        };
        let prefixes = [bytes(networks, set.networks.labels()), bytes(levels, set.levels.labels())];
        ([set.addresses.occupancy(), set.six.occupancy()], prefixes)
    }

    /// Kernel memory of all that is allowed, in bytes; none while nothing is.
    pub fn allowed_bytes(&self) -> u64 {
        let SetWindows { addresses, networks, levels, six } = self.sets.allow.windows();
        let words = [addresses, networks, levels, six, self.overlap.words()];
        words.into_iter().flatten().map(Window::bytes).sum()
    }

    /// Kernel memory of the prefixes that are allowed: of IPv4, and of IPv6 from the top.
    pub fn allowed_prefixes_bytes(&self) -> [u64; 2] {
        let SetWindows { networks, levels, .. } = self.sets.allow.windows();
        [networks, levels].map(|window| window.map_or(0, Window::bytes))
    }

    /// How many IPv4 addresses have moved within their table since packets have been reading it.
    pub fn moves(&self) -> u64 {
        self.sets.block.addresses.store.current_live().map_or(0, |live| live.moves())
    }

    /// The same of IPv6 prefixes.
    pub fn moves6(&self) -> u64 {
        self.sets.block.six.store.current_live().map_or(0, |live| live.moves())
    }

    /// Kernel memory of what tells IPv6 from the top, in bytes.
    pub fn levels_bytes(&self) -> u64 {
        let labels = self.sets.block.levels.labels().map_or(0, Window::bytes);
        self.sets.block.levels.words().map_or(0, |window| window.bytes() + labels)
    }

    /// How full the table of IPv6 prefixes is. Many up to /32 are told by bits, and stand in no table.
    pub fn six(&self) -> Occupancy {
        self.sets.block.six.occupancy()
    }

    /// Kernel memory of the IPv4 prefixes, in bytes.
    pub fn networks_bytes(&self) -> u64 {
        let labels = self.sets.block.networks.labels().map_or(0, Window::bytes);
        self.sets.block.networks.words().map_or(0, |window| window.bytes() + labels)
    }
}
