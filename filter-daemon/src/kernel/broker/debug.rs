//! Logs a line for each packet, if the programs were built for debugging (`FILTERD_BPF_LOG=1`). Normal builds
//! print none.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use aya::Ebpf;
use aya_log::EbpfLogger;

/// Time between two reads of new lines.
const OFTEN: Duration = Duration::from_millis(100);

/// Forwards the lines that a judge prints to the log, until it is dropped.
#[derive(Debug)]
pub struct DebugLines {
    _wanted: Arc<()>,
}

impl DebugLines {
    /// Follows the judge in `object`, if it prints lines.
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
