//! The tables as the judge sees them, for asking its own question in the daemon.

use filter_common::Words;
use filter_common::settings::{Setting, Settings};
use filter_common::verdict::Tables;

use super::shape::Shape;
use super::window::Window;

/// A judge's settings, and the maps it looks things up in.
pub struct Seen<'a> {
    settings: Settings,
    addresses: Map<'a>,
    networks: Map<'a>,
    six: Map<'a>,
}

/// A map that may not be there; then it is never looked into.
#[derive(Clone, Copy)]
struct Map<'a>(Option<&'a Window>);

impl<'a> Seen<'a> {
    /// The view of a judge of this shape.
    pub fn new(
        shape: &Shape,
        addresses: Option<&'a Window>,
        networks: Option<&'a Window>,
        six: Option<&'a Window>,
    ) -> Self {
        Self { settings: shape.settings(), addresses: Map(addresses), networks: Map(networks), six: Map(six) }
    }
}

impl Tables for Seen<'_> {
    fn setting(&self, setting: Setting) -> u64 {
        self.settings[setting]
    }

    fn addresses(&self) -> impl Words {
        self.addresses
    }

    fn networks(&self) -> impl Words {
        self.networks
    }

    fn six(&self) -> impl Words {
        self.six
    }
}

impl Words for Map<'_> {
    fn load(&self, index: u32) -> u64 {
        self.0.map_or(0, |window| window.load(index))
    }
}
