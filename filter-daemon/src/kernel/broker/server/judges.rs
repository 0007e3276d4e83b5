//! Loads judges, when they are needed or in advance. Their blueprints are checked, not trusted.

use aya::maps::MapData;
use filter_common::{sampling, settings};

use super::super::judge::{self, Judge};
use super::super::link::{self, Judges};
use super::super::pins::Pins;
use super::super::request::{Blueprint, Reply};
use super::super::root::{NAME_TC, Root};
use super::super::roots::Roots;
use super::super::tc::{self, TcSide};
use super::{BrokerServer, mend};
use crate::config::Mode;
use crate::kernel::hook::Hook;
use crate::kernel::interface::Framing;
use crate::kernel::{Attachment, KernelError, KernelInterface};

/// Roots whose judge is loaded when they are first needed.
struct JudgesOnDemand<'a> {
    roots: &'a mut Roots,
    published: &'a mut Option<Judge>,
    pins: &'a Pins,
    ring: Option<MapData>,
}

impl Judges for JudgesOnDemand<'_> {
    fn root(&mut self, hook: Hook) -> Result<&mut Root, KernelError> {
        let root = self.roots.get(hook)?;
        let Some(judge) = self.published.as_mut().filter(|judge| judge.program(hook).is_none()) else {
            return Ok(root);
        };
        judge.complete(&[hook], self.pins, self.ring.take())?;
        root.meet(judge.program(hook).expect("it was loaded"))?;
        Ok(root)
    }
}

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
        self.foreseen = Some(judge::foresee(self.hooks(&blueprint), blueprint, &self.pins, ring)?);
        Ok(Reply::NotYet)
    }

    /// Loads a judge, unless `foresee` has done it.
    pub(super) fn prepare(&mut self, blueprint: Blueprint) -> Result<(), KernelError> {
        let ring = self.begin_judge(&blueprint)?;
        let foreseen = self.foreseen.take_if(|foreseen| foreseen.is(&blueprint));
        self.ready = Some(match foreseen {
            Some(foreseen) => foreseen.judge()?,
            None => judge::load(&self.hooks(&blueprint), blueprint, &self.pins, ring)?,
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

    /// The hooks that a judge from this blueprint must have programs for: those in use, those that are
    /// expected to be, and those of what the interfaces send.
    pub(super) fn hooks(&self, blueprint: &Blueprint) -> Vec<Hook> {
        let received = || self.links.hooks().chain(self.expected.iter().copied());
        let is_outbound = judge::is_outbound(blueprint);
        let used = |hook: &Hook| match hook.is_sent() {
            true => is_outbound && received().any(|its| Hook::sent(its.framing()) == *hook),
            false => received().any(|its| its == *hook),
        };
        Hook::ALL.into_iter().filter(used).collect()
    }

    /// Attaches the judge of destinations wherever it is wanted and missing. `look` reports errors.
    pub(super) fn mend_outbound(&mut self) -> Result<(), KernelError> {
        if !self.is_outbound() {
            return Ok(());
        }
        let links = self.links.look(&self.pins);
        let Self { outbound, roots, .. } = self;
        let id = |framing| roots.get(Hook::sent(framing)).and_then(|root| root.id()).unwrap_or_default();
        let missing: Vec<_> = outbound.missing(&links, id);
        missing.into_iter().try_for_each(|link| self.attach_outbound(&link.name, link.index, link.framing))
    }

    /// Attaches the programs for local calls if they are missing, or somebody removed them.
    pub(super) fn mend_connect(&mut self) -> Result<(), KernelError> {
        let is_due = !self.is_gone && self.connect.are_missing(&self.pins);
        if is_due { self.renew_connect() } else { Ok(()) }
    }

    /// Detaches these programs while no interface is filtered: they are never alone.
    pub(super) fn end_lonely_connect(&mut self) -> Result<(), KernelError> {
        if self.is_gone || !self.links.look(&self.pins).is_empty() {
            return Ok(());
        }
        self.connect.end(&self.pins)
    }

    /// Gives the programs for local calls the settings and tables of the published judge, if it is to have them.
    /// Those of an earlier filterd stay until an interface is attached.
    pub(super) fn renew_connect(&mut self) -> Result<(), KernelError> {
        if !self.is_outbound() {
            return Ok(());
        }
        // A link whose interface was deleted is none.
        let is_filtering = !self.links.look(&self.pins).is_empty();
        let Some(judge) = &self.published else { return Ok(()) };
        if !judge.blueprint().outbound_errors {
            return self.connect.end(&self.pins);
        }
        if !is_filtering {
            return Ok(());
        }
        let tables = Judge::open(judge.blueprint(), &self.pins, None)?;
        let settings = judge::of_hook(&judge.blueprint().settings, Hook::Sent);
        self.connect.replace(&settings, &tables, &self.pins);
        Ok(())
    }

    /// Attaches the judge of destinations to an interface, replacing our earlier attachment.
    pub(super) fn attach_outbound(
        &mut self,
        name: &str,
        index: u32,
        framing: Framing,
    ) -> Result<(), KernelError> {
        let ring = self.published_ring()?;
        let Self { outbound, roots, published, pins, .. } = self;
        let mut judges = JudgesOnDemand { roots, published, pins, ring };
        let root = judges.root(Hook::sent(framing));
        let program = root.map(|root| root.program().tc().expect("the root of a TC hook is a program of TC"));
        outbound.attach((name, index), NAME_TC, program, pins);
        Ok(())
    }

    /// Gives every attachment of another version's root ours.
    pub(super) fn replace_roots(&mut self) -> Result<(), KernelError> {
        if self.roots.iter_mut().any(|(_, root)| root.is_successor()) {
            link::hand_over(&mut self.roots, &self.pins, |_, root| root.is_successor())?;
        }
        Ok(())
    }

    /// Attaches to an interface. A judge for its hook is loaded first, if there is none.
    pub(super) fn attach(
        &mut self,
        interface: &KernelInterface,
        mode: Mode,
    ) -> Result<Attachment, KernelError> {
        let ring = self.published_ring()?;
        let Self { links, roots, published, pins, neighbours, .. } = self;
        let mut judges = JudgesOnDemand { roots, published, pins, ring };
        links.attach(&mut judges, interface, mode, pins, neighbours)
    }

    /// Takes over what an earlier filterd left attached.
    pub(super) fn adopt(&mut self) -> Result<(), KernelError> {
        self.pins_in_place()?;
        let ring = self.published_ring()?;
        let Self { links, roots, published, pins, .. } = self;
        let mut judges = JudgesOnDemand { roots, published, pins, ring };
        links.adopt(&mut judges, pins);
        Ok(())
    }

    /// Ends replacements of attachments in which an earlier filterd was killed.
    fn pins_in_place(&mut self) -> Result<(), KernelError> {
        for name in self.pins.links_aside() {
            let failed = |error| KernelError::load("move the pin of a link", error);
            if self.pins.link(&name).symlink_metadata().is_err() {
                self.pins.restore_link(&name).map_err(failed)?;
                continue;
            }
            let (_, _pinned) = tc::release(&self.pins.link_aside(&name), TcSide::Received, NAME_TC)?;
            self.pins.forget_link_aside(&name).map_err(failed)?;
        }
        Ok(())
    }

    /// The ring for the published judge, if that samples drops.
    fn published_ring(&self) -> Result<Option<MapData>, KernelError> {
        self.published.as_ref().map_or(Ok(None), |judge| self.ring_for_judge(judge))
    }

    /// The ring for this judge, if it samples drops.
    pub(super) fn ring_for_judge(&self, judge: &Judge) -> Result<Option<MapData>, KernelError> {
        self.ring_for(judge.blueprint())
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
        let of = |words| Blueprint {
            has_ports: false,
            outbound_errors: true,
            settings: vec![0; words],
            maps: Vec::new(),
        };
        must_have_all_settings(&of(settings::WORDS)).unwrap();
        for words in [0, settings::WORDS - 1, settings::WORDS + 1] {
            assert!(must_have_all_settings(&of(words)).is_err(), "{words}");
        }
    }
}
