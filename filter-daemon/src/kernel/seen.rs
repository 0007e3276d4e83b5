//! The tables as the judge sees them, so that the daemon can make the judge's own decision.

use filter_common::Words;
use filter_common::hash::Address6;
use filter_common::judge::Tables;
use filter_common::labels::Label;
use filter_common::packet::Source;
use filter_common::ports::{self, Port, Wants};
use filter_common::reason::{Enforcement, Told};
use filter_common::set::{self, LabelView, Set, View};
use filter_common::sets::{PerSet, SetName, Slot};
use filter_common::settings::{PortSettings, SetSettings, Settings};

use super::window::Window;
use crate::clock;

/// A judge's settings, and the maps that it reads.
pub struct PublishedTables<'a> {
    pub settings: Settings,
    pub sets: PerSet<SetWindows<'a>>,
    /// The word that records whether blocked and allowed targets may overlap.
    pub overlap: Option<&'a Window>,
    pub labels: PerSet<LabelView<&'a Window>>,
}

impl PublishedTables<'_> {
    /// The label of the list that a packet from `source` counts for. None if no blocking set holds the
    /// source.
    pub fn label(&self, source: Source) -> Option<Label> {
        SetName::of_sources().find_map(|name| set::label(&self.set(name), &self.labels[name], source))
    }
}

#[derive(Clone, Copy)]
pub struct SetWindows<'a> {
    /// The table of single IPv4 addresses.
    pub addresses: Option<&'a Window>,
    /// The map of IPv4 prefixes up to /24.
    pub networks: Option<&'a Window>,
    /// The levels of short IPv6 prefixes.
    pub levels: Option<&'a Window>,
    /// IPv6 prefixes that the levels do not hold.
    pub six: Option<&'a Window>,
}

impl<'a> SetWindows<'a> {
    const fn under(self, settings: &SetSettings) -> View<'_, &'a Window> {
        let Self { addresses, networks, levels, six } = self;
        View { settings, addresses, networks, levels, six }
    }
}

impl<'a> PublishedTables<'a> {
    /// One set as packets see it.
    pub fn set(&self, name: SetName) -> View<'_, &'a Window> {
        self.sets[name].under(&self.settings.sets[name])
    }
}

impl Tables for PublishedTables<'_> {
    fn enforcement(&self) -> Enforcement {
        Enforcement::of(self.settings.enforce).now(self.settings.paused_until, clock::kernel_now)
    }

    fn block(&self) -> impl Set {
        self.set(SetName::Block)
    }

    fn allow(&self) -> impl Set {
        self.set(SetName::Allow)
    }

    fn holds4(&self, slot: Slot, address: u32) -> Told {
        let found = set::find4(&self.set(SetName::Clause(slot)), address);
        found.map_or(Told::UNLISTED, |found| found.reason().told())
    }

    fn holds6(&self, slot: Slot, address: Address6) -> Told {
        set::find6(&self.set(SetName::Clause(slot)), address)
            .map_or(Told::UNLISTED, |found| found.reason().told())
    }

    fn wants(&self, slot: Slot, port: Port) -> Wants {
        let PortSettings { except, ranges } = &self.settings.ports[slot.number()];
        ports::wants(*except != 0, |number| ranges[number], port)
    }

    fn may_overlap(&self) -> bool {
        self.settings.overlap != 0 && self.overlap.is_some_and(|word| word.load(0) != 0)
    }
}

/// The tables as the judge of sent frames sees them.
pub struct SentTables<'a>(pub PublishedTables<'a>);

impl Tables for SentTables<'_> {
    fn enforcement(&self) -> Enforcement {
        self.0.enforcement()
    }

    fn block(&self) -> impl Set {
        self.0.set(SetName::Out)
    }

    fn allow(&self) -> impl Set {
        self.0.allow()
    }

    fn may_overlap(&self) -> bool {
        self.0.may_overlap()
    }
}
