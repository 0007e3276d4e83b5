//! Ctrl-C, and other ways to ask for the end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// Whether somebody wants the demo to end.
#[derive(Clone)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// From now on signals are noted, and end nothing.
    pub fn watch() -> Self {
        let come = Arc::new(AtomicBool::new(false));
        for signal in [SIGHUP, SIGINT, SIGTERM] {
            signal_hook::flag::register(signal, Arc::clone(&come)).expect("these signals can be watched");
        }
        Self(come)
    }

    pub fn has_come(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Ends the demo if somebody wants that.
    pub fn check(&self) {
        assert!(!self.has_come(), "it was interrupted");
    }
}
