//! Handles the change from one filterd to the next: the state that a broker leaves, and a takeover between
//! two.

use super::super::{judge, link};
use super::BrokerServer;
use crate::clock;
use crate::config::pin;
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
        if self.is_apart {
            _ = self.pins.forget_successor();
        } else if !self.found_at_work && self.links.is_empty() {
            _ = self.pins.remove();
        }
    }

    fn resume(&mut self) -> Result<(), KernelError> {
        let published = self.published.as_ref().filter(|_| !self.is_apart);
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

    /// Refuses changes to another filterd's pins, except while that filterd waits for us.
    pub(super) fn must_be_in_time(&self) -> Result<(), KernelError> {
        if self.is_apart && clock::uptime().as_millis() >= u128::from(self.too_late) {
            return Err(KernelError::refused(
                "touch the filter of another filterd",
                "it did not make way, or continues",
            ));
        }
        Ok(())
    }

    /// Takes over the usual pins and the lock after the other filterd has ended.
    pub(super) fn settle(&mut self) -> Result<(), KernelError> {
        if !self.is_apart {
            return Ok(());
        }
        self.lock = self.pins.settle()?;
        self.is_apart = false;
        self.roots.settle()?;
        match self.published.take() {
            Some(judge) => {
                self.end_unwanted_egress(&judge)?;
                self.published = Some(judge);
                self.mend_outbound()?;
                self.renew_connect()
            }
            None => Ok(()),
        }
    }

    /// Returns to our judge after the filterd that had begun to replace us has ended. Its links are removed.
    pub(super) fn come_back(&mut self) -> Result<(), KernelError> {
        if let Some(judge) = &self.published {
            self.roots.meet(judge)?;
            link::hand_over(&mut self.roots, &self.pins, |_, _| true)?;
        }
        self.links.restore_names(&self.pins)?;
        for path in self.pins.links() {
            let Some(name) = pin::interface(&path) else { continue };
            if !self.links.has(&name) {
                self.links.detach(&name, &self.pins)?;
                self.egress.programs().detach(&name, &self.pins)?;
                self.outbound.detach(&name, &self.pins)?;
            }
        }
        Ok(())
    }
}
