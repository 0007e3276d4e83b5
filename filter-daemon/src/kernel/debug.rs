//! A line for each packet, from programs that were built for debugging (`FILTERD_BPF_LOG=1`). Normal ones have none.

use std::time::Duration;

use aya::Ebpf;
use aya_log::EbpfLogger;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

/// How often lines are fetched.
const OFTEN: Duration = Duration::from_millis(100);

/// Passes the lines that a judge prints on to the log, until it is dropped.
#[derive(Debug)]
pub struct Lines(JoinHandle<()>);

impl Lines {
    /// Follows the judge in `object`, if it prints anything and there is a runtime to follow it in.
    pub fn follow(object: &mut Ebpf) -> Option<Self> {
        let runtime = Handle::try_current().ok()?;
        let mut logger = EbpfLogger::init(object).ok()?;
        Some(Self(runtime.spawn(async move {
            loop {
                logger.flush();
                tokio::time::sleep(OFTEN).await;
            }
        })))
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        self.0.abort();
    }
}
