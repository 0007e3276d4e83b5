//! The end of a broker: the state in which it leaves the kernel.

use super::super::judge;
use super::BrokerServer;
use crate::kernel::KernelError;
use crate::text::Explain;

impl BrokerServer {
    /// Leaves the filter as it is, or removes everything if nothing is attached. A pause and the sampling of
    /// drops end here, because no process would be left to end them.
    pub fn leave(&mut self) {
        if self.is_gone {
            return;
        }
        if let Err(error) = self.resume() {
            tracing::error!("protection stays paused: {}", error.explain());
        }
        if !self.found_at_work && self.links.is_empty() {
            _ = self.pins.remove();
        }
    }

    fn resume(&mut self) -> Result<(), KernelError> {
        let published = self.published.as_ref();
        let Some((blueprint, hooks)) = published.and_then(|judge| Some((judge.alone()?, judge.hooks())))
        else {
            return Ok(());
        };
        let judge = judge::load(&hooks, blueprint, &self.pins, None)?;
        self.roots.meet(&judge)?;
        self.roots.settle()?;
        self.published = Some(judge);
        self.renew_connect()
    }
}
