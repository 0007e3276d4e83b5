//! Programs on what interfaces send: the one that records own flows, and the judge of destinations. Each has a
//! directory among the pins, with one entry for each interface.

use std::collections::HashMap;

use aya::programs::SchedClassifier;
use tracing::{info, warn};

use super::super::interface::Framing;
use super::super::{AttachMode, KernelError, Link};
use super::mending::TamperingLog;
use super::pins::Pins;
use super::root;
use super::sent_work::{EGRESS, EGRESS_BARE, SentWork};
use super::tc::{self, TcAttachment, TcPlace, TcSide};
use crate::text::Explain;

/// The attachments of one kind of program.
#[derive(Debug)]
pub struct SentPrograms {
    work: SentWork,
    held: HashMap<String, TcAttachment>,
    /// The errors of interfaces where it could not be attached.
    refused: HashMap<String, String>,
    /// Whether it was attached somewhere since the last report.
    is_anew: bool,
}

impl SentPrograms {
    pub fn new(work: SentWork) -> Self {
        Self { work, held: HashMap::new(), refused: HashMap::new(), is_anew: false }
    }

    /// Attaches `program`, called `its`, to an interface, replacing our earlier attachment. An error is kept
    /// for reports, because the filter still drops received frames.
    pub fn attach(
        &mut self,
        (name, index): (&str, u32),
        its: &'static str,
        program: Result<&mut SchedClassifier, KernelError>,
        pins: &Pins,
    ) {
        match program.and_then(|program| self.work.attach(name, index, its, program, pins)) {
            Ok(attached) => {
                self.refused.remove(name);
                self.held.insert(name.to_owned(), attached);
                self.is_anew = true;
            }
            Err(error) => {
                let told = error.explain().to_string();
                if self.refused.get(name) != Some(&told) {
                    warn!("{told}");
                }
                self.refused.insert(name.to_owned(), told);
            }
        }
    }

    pub fn detach(&mut self, name: &str, pins: &Pins) -> Result<(), KernelError> {
        self.refused.remove(name);
        let _held = self.held.remove(name);
        self.work.forget(name, pins).map(drop)
    }

    /// Detaches the program everywhere.
    pub fn end(&mut self, pins: &Pins) -> Result<(), KernelError> {
        self.refused.clear();
        let _held = std::mem::take(&mut self.held);
        self.work.remove(pins)?;
        let failed = |error| KernelError::load("remove the pins of programs on sent frames", error);
        pins.forget_all_sent(self.work).map_err(failed)
    }

    /// Renames an interface. If the other name is in use, the two exchange their names.
    pub fn rename(&mut self, from: &str, to: &str, pins: &Pins) -> Result<(), KernelError> {
        pins.rename_sent(self.work, from, to)
            .map_err(|error| KernelError::load("rename the pin of an egress link", error))?;
        let (one, other) = (self.held.remove(from), self.held.remove(to));
        self.held.extend(one.map(|hold| (to.to_owned(), hold)));
        self.held.extend(other.map(|hold| (from.to_owned(), hold)));
        Ok(())
    }

    /// The error, if the program could not be attached to this interface.
    pub fn why_not(&self, name: &str) -> Option<String> {
        self.refused.get(name).cloned()
    }

    /// The links on whose interfaces the program is missing. `id` is that of the program for such frames.
    pub fn missing<'a>(&mut self, links: &'a [Link], mut id: impl FnMut(Framing) -> u32) -> Vec<&'a Link> {
        let mut is_there =
            |link: &Link| Some(self.held.get_mut(&link.name)?.check(link.index, id(link.framing)));
        let states: Vec<_> = links.iter().map(|link| (link, is_there(link))).collect();
        let is_missing = |(link, is_there): &(&Link, Option<bool>)| match is_there {
            Some(true) => false,
            Some(false) => {
                warn!(
                    "{}: another process detached the program by which {}; attaching again",
                    link.name,
                    self.work.described()
                );
                self.held.remove(&link.name);
                true
            }
            None => true,
        };
        states.into_iter().filter(is_missing).map(|(link, _)| link).collect()
    }

    /// Pins attachments again whose pins someone removed or replaced.
    pub fn mend_pins(&mut self, pins: &Pins, mending: &mut TamperingLog) -> Result<(), KernelError> {
        if self.held.is_empty() {
            return Ok(());
        }
        pins.make_sent(self.work)?;
        let work = self.work;
        self.held.iter_mut().try_for_each(|(name, hold)| hold.mend(&pins.sent(work, name), mending))
    }

    /// True if the program was attached anywhere since the last call.
    pub fn take_newly_attached(&mut self) -> bool {
        std::mem::take(&mut self.is_anew)
    }
}

impl SentWork {
    /// The names of its programs in the kernel.
    const fn names(self) -> &'static [&'static str] {
        match self {
            Self::RecordFlows => &[EGRESS, EGRESS_BARE],
            Self::JudgeDestinations => &[root::NAME_TC],
        }
    }

    fn attach(
        self,
        name: &str,
        index: u32,
        its: &'static str,
        program: &mut SchedClassifier,
        pins: &Pins,
    ) -> Result<TcAttachment, KernelError> {
        let pin = pins.sent(self, name);
        let place = TcPlace { name, index, side: TcSide::Sent, program: its, pin: &pin };
        if let Some(mut attached) = place.pinned(pins)? {
            place.return_to(&mut attached, program)?;
            return Ok(attached);
        }
        self.forget(name, pins)?;
        pins.make_sent(self)?;
        let attached = place.attach(program)?;
        let way = match attached.mode() {
            AttachMode::Clsact => "an egress filter (clsact)",
            AttachMode::Native | AttachMode::Tcx => "an egress link (TCX)",
        };
        info!("{name}: {} by {way}", self.described());
        Ok(attached)
    }

    /// Removes the pin of an interface, and detaches the program. True if it is detached.
    fn forget(self, name: &str, pins: &Pins) -> Result<bool, KernelError> {
        let pin = pins.sent(self, name);
        let mut is_all_off = true;
        let mut held = Vec::new();
        for its in self.names() {
            let (is_off, pinned) = tc::release(&pin, TcSide::Sent, its)?;
            is_all_off &= is_off;
            held.extend(pinned);
        }
        pins.forget_sent(self, name)
            .map_err(|error| KernelError::load("remove the pin of an egress link", error))?;
        Ok(is_all_off)
    }

    /// Removes everything that an ended filterd left. Returns the interfaces that this network namespace
    /// cannot reach.
    pub fn remove(self, pins: &Pins) -> Result<Vec<String>, KernelError> {
        let mut out_of_reach = Vec::new();
        for name in pins.all_sent(self) {
            if !self.forget(&name, pins)? {
                out_of_reach.push(name);
            }
        }
        Ok(out_of_reach)
    }
}
