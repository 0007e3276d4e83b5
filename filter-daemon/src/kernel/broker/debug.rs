//! A line for each packet, from programs that were built for debugging (`FILTERD_BPF_LOG=1`). Normal ones have none.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use aya::Ebpf;
use aya_log::EbpfLogger;

/// How often lines are fetched.
const OFTEN: Duration = Duration::from_millis(100);

/// Passes the lines that a judge prints on to the log, until it is dropped.
#[derive(Debug)]
pub struct Lines {
    _wanted: Arc<()>,
}

impl Lines {
    /// Follows the judge in `object`, if it prints anything.
    pub fn follow(object: &mut Ebpf) -> Option<Self> {
        let mut logger = EbpfLogger::init(object).ok()?;
        let wanted = Arc::new(());
        let still = Arc::downgrade(&wanted);
        thread::spawn(move || {
            while still.strong_count() > 0 {
                logger.flush();
                thread::sleep(OFTEN);
            }
        });
        Some(Self { _wanted: wanted })
    }
}
