//! The tables as the judge sees them, for asking its own question in the daemon.

use filter_common::Words;
use filter_common::settings::{Setting, Settings};
use filter_common::verdict::Tables;

use super::window::Window;

/// A judge's settings, and the maps it looks things up in.
pub struct Seen<'a> {
    settings: Settings,
    addresses: Option<&'a Window>,
    networks: Option<&'a Window>,
    six: Option<&'a Window>,
}

impl<'a> Seen<'a> {
    /// The view of a judge of these settings.
    pub const fn new(
        settings: Settings,
        addresses: Option<&'a Window>,
        networks: Option<&'a Window>,
        six: Option<&'a Window>,
    ) -> Self {
        Self { settings, addresses, networks, six }
    }
}

impl Tables for Seen<'_> {
    fn setting(&self, setting: Setting) -> u64 {
        self.settings[setting]
    }

    fn addresses(&self) -> Option<impl Words> {
        self.addresses
    }

    fn networks(&self) -> Option<impl Words> {
        self.networks
    }

    fn six(&self) -> Option<impl Words> {
        self.six
    }
}
