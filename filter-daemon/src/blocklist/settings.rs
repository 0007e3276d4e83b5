//! How packets are judged, whatever is listed.

/// Settings that travel with what is published to packets, never ahead of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Drop what is blocked, or only count it?
    pub enforce: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { enforce: true }
    }
}
