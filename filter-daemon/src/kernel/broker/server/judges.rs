//! Judges: loaded when they are wanted, or before. What they are built from is believed by nobody.

use aya::maps::MapData;
use filter_common::{sampling, settings};

use super::super::judge;
use super::super::request::{Answer, Blueprint};
use super::{Server, mend};
use crate::kernel::KernelError;

impl Server {
    /// Has one loaded aside, of which the verifier takes milliseconds to be sure, so that whoever wants it then need not
    /// wait. One at a time: threads are no asker's to spend, and who asks for another one is to ask again.
    pub(super) fn foresee(&mut self, blueprint: Blueprint) -> Result<Answer, KernelError> {
        if let Some(foreseen) = &self.foreseen {
            if foreseen.is(&blueprint) {
                return Ok(if foreseen.is_coming() { Answer::NotYet } else { Answer::Done });
            }
            if foreseen.is_coming() {
                return Ok(Answer::NotYet);
            }
        }
        let ring = self.begin_judge(&blueprint)?;
        self.foreseen = Some(self.loader.foresee(blueprint, &self.pins, ring)?);
        Ok(Answer::NotYet)
    }

    /// Loads one, unless it has been foreseen.
    pub(super) fn prepare(&mut self, blueprint: Blueprint) -> Result<(), KernelError> {
        let ring = self.begin_judge(&blueprint)?;
        let foreseen = self.foreseen.take_if(|foreseen| foreseen.is(&blueprint));
        self.ready = Some(match foreseen {
            Some(foreseen) => foreseen.judge()?,
            None => self.loader.load(blueprint, &self.pins, ring)?,
        });
        Ok(())
    }

    /// Sees to what one like this stands on; gives the ring, if it tells any drop in full.
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

    /// No more samples than there may be.
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

/// The program is made of all of them, and of nothing else.
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
    fn a_judge_has_all_settings() {
        let of = |words| Blueprint { has_ports: false, settings: vec![0; words], maps: Vec::new() };
        must_have_all_settings(&of(settings::WORDS)).unwrap();
        for words in [0, settings::WORDS - 1, settings::WORDS + 1] {
            assert!(must_have_all_settings(&of(words)).is_err(), "{words}");
        }
    }
}
