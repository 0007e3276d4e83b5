//! The tables as the judge sees them, for asking its own question in the daemon.

use filter_common::Words;
use filter_common::judge::Tables;
use filter_common::labels::Label;
use filter_common::packet::Source;
use filter_common::reason::Enforcement;
use filter_common::set::{self, LabelView, Set, View};
use filter_common::settings::{SetSettings, Settings};

use super::window::Window;
use crate::clock;

/// A judge's settings, and the maps it looks things up in.
pub struct Seen<'a> {
    /// The settings.
    pub settings: Settings,
    /// The maps of what is blocked.
    pub block: SetWindows<'a>,
    /// The maps of what is allowed.
    pub allow: SetWindows<'a>,
    /// The word that tells whether they may overlap.
    pub overlap: Option<&'a Window>,
    /// The labels of what is blocked.
    pub labels: LabelView<&'a Window>,
}

impl Seen<'_> {
    /// For which list a packet from `source` counts, if it is blocked.
    pub fn label(&self, source: Source) -> Option<Label> {
        set::label(&self.block(), &self.labels, source)
    }
}

/// The maps of one set.
#[derive(Clone, Copy)]
pub struct SetWindows<'a> {
    /// IPv4 addresses.
    pub addresses: Option<&'a Window>,
    /// IPv4 prefixes.
    pub networks: Option<&'a Window>,
    /// IPv6 from the top.
    pub levels: Option<&'a Window>,
    /// IPv6 prefixes that the levels do not tell.
    pub six: Option<&'a Window>,
}

impl<'a> SetWindows<'a> {
    const fn under(self, settings: &'a SetSettings) -> View<'a, &'a Window> {
        let Self { addresses, networks, levels, six } = self;
        View { settings, addresses, networks, levels, six }
    }
}

impl Tables for Seen<'_> {
    fn enforcement(&self) -> Enforcement {
        Enforcement::of(self.settings.enforce).now(self.settings.paused_until, clock::kernel_now)
    }

    fn block(&self) -> impl Set {
        self.block.under(&self.settings.block)
    }

    fn allow(&self) -> impl Set {
        self.allow.under(&self.settings.allow)
    }

    fn may_overlap(&self) -> bool {
        self.settings.overlap != 0 && self.overlap.is_some_and(|word| word.load(0) != 0)
    }
}
