//! `pause` and `resume`: blocked packets are only counted for a while, then dropped again.

use super::failure::not_done;
use crate::blocklist::Change;
use crate::clock;
use crate::control::wire::{Failure, Idle, pause, resume};
use crate::daemon::owner::Owner;

impl Owner {
    pub(super) fn begin_pause(&mut self, request: pause::Request) -> Result<pause::Reply, Failure> {
        let until = clock::after(request.length);
        self.core.protection.commit(&Change::Pause(Some(until)), clock::now()).map_err(not_done)?;
        let before = self.pause.begin(clock::now(), until, request.by);
        let idle = self.idle().filter(|idle| *idle != Idle::Paused);
        Ok(pause::Reply { until: clock::on_the_wall(until), before: before.map(clock::on_the_wall), idle })
    }

    pub(super) fn resume(&mut self) -> Result<resume::Reply, Failure> {
        self.core.protection.commit(&Change::Pause(None), clock::now()).map_err(not_done)?;
        let before = self.pause.end().map(clock::on_the_wall);
        Ok(resume::Reply { before, idle: self.idle() })
    }

    /// Ends a pause whose time is over. While it lasts, the judge compares the time for each packet; this is
    /// no longer needed.
    pub fn mind_pause(&mut self) {
        if self.pause.until_due().is_none_or(|left| !left.is_zero()) {
            return;
        }
        match self.core.protection.commit(&Change::Pause(None), clock::now()) {
            Ok(_) => {
                self.pause.end();
                tracing::info!("the pause is over: packets from listed sources are dropped again");
            }
            Err(error) => self.pause.note_refusal(&error),
        }
    }
}
