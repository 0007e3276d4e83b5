//! The tables as the judge sees them, for asking its own question in the daemon.

use filter_common::judge::Tables;
use filter_common::reason::Enforcement;
use filter_common::set::{Set, View};
use filter_common::settings::Settings;

use super::window::Window;

/// A judge's settings, and the maps it looks things up in.
pub struct Seen<'a> {
    settings: Settings,
    addresses: Option<&'a Window>,
    networks: Option<&'a Window>,
    levels: Option<&'a Window>,
    six: Option<&'a Window>,
}

impl<'a> Seen<'a> {
    /// The view of a judge of these settings.
    pub const fn new(
        settings: Settings,
        addresses: Option<&'a Window>,
        networks: Option<&'a Window>,
        levels: Option<&'a Window>,
        six: Option<&'a Window>,
    ) -> Self {
        Self { settings, addresses, networks, levels, six }
    }
}

impl Tables for Seen<'_> {
    fn enforcement(&self) -> Enforcement {
        Enforcement::of(self.settings.enforce)
    }

    fn block(&self) -> impl Set {
        let Self { addresses, networks, levels, six, .. } = *self;
        View { settings: &self.settings.block, addresses, networks, levels, six }
    }
}
