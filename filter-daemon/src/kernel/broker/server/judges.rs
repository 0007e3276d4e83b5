//! Loads judges, when they are needed or in advance. Their blueprints are checked, not trusted.

use aya::maps::MapData;
use filter_common::{sampling, settings};

use super::super::judge;
use super::super::request::{Blueprint, Reply};
use super::{BrokerServer, mend};
use crate::kernel::KernelError;

impl BrokerServer {
    /// Loads a judge in the background, because the verifier takes milliseconds, so that the later request
    /// need not wait. Only one is loaded at a time, which limits threads. A request for another judge must be
    /// repeated.
    pub(super) fn foresee(&mut self, blueprint: Blueprint) -> Result<Reply, KernelError> {
        if let Some(foreseen) = &self.foreseen {
            if foreseen.is(&blueprint) {
                return Ok(if foreseen.is_coming() { Reply::NotYet } else { Reply::Done });
            }
            if foreseen.is_coming() {
                return Ok(Reply::NotYet);
            }
        }
        let ring = self.begin_judge(&blueprint)?;
        self.foreseen = Some(self.loader.foresee(blueprint, &self.pins, ring)?);
        Ok(Reply::NotYet)
    }

    /// Loads a judge, unless `foresee` has done it.
    pub(super) fn prepare(&mut self, blueprint: Blueprint) -> Result<(), KernelError> {
        let ring = self.begin_judge(&blueprint)?;
        let foreseen = self.foreseen.take_if(|foreseen| foreseen.is(&blueprint));
        self.ready = Some(match foreseen {
            Some(foreseen) => foreseen.judge()?,
            None => self.loader.load(blueprint, &self.pins, ring)?,
        });
        Ok(())
    }

    /// Prepares everything that such a judge depends on. Returns the ring if the judge samples drops.
    fn begin_judge(&mut self, blueprint: &Blueprint) -> Result<Option<MapData>, KernelError> {
        must_have_all_settings(blueprint)?;
        self.kept.may_use(&blueprint.maps)?;
        self.mend_pins()?;
        if judge::matches_new(blueprint) {
            self.egress.make(&self.pins)?;
        }
        self.hold_counters()?;
        self.ring_for(blueprint)
    }

    /// Refuses a judge with more samples than allowed.
    fn ring_for(&self, blueprint: &Blueprint) -> Result<Option<MapData>, KernelError> {
        let refused = |why: &str| Err(KernelError::refused("load the judge", why));
        match (judge::samples(blueprint), &self.ring) {
            (0, _) => Ok(None),
            (1..=sampling::MOST_BUDGET, Some(ring)) => {
                let ring = MapData::from_fd(mend::share(ring)?);
                Ok(Some(ring.map_err(|error| KernelError::load("open the ring of samples", error))?))
            }
            (1..=sampling::MOST_BUDGET, None) => refused("there is no ring for its samples"),
            (budget, _) => refused(&format!("it takes {budget} samples at once")),
        }
    }
}

/// Refuses other lengths, because the words replace the program's settings completely.
fn must_have_all_settings(blueprint: &Blueprint) -> Result<(), KernelError> {
    match blueprint.settings.len() {
        settings::WORDS => Ok(()),
        words => Err(KernelError::refused("load the judge", &format!("its settings have {words} words"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn judge_with_missing_settings_is_refused() {
        let of = |words| Blueprint { has_ports: false, settings: vec![0; words], maps: Vec::new() };
        must_have_all_settings(&of(settings::WORDS)).unwrap();
        for words in [0, settings::WORDS - 1, settings::WORDS + 1] {
            assert!(must_have_all_settings(&of(words)).is_err(), "{words}");
        }
    }
}
