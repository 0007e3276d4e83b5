//! Everything of ours in the kernel, as one thing: a change is planned, published by one store, and what leaves is released last.
//!
//! *Plan*: what is too small is made anew beside what is in use, and the judge for it is loaded; no packet sees any of it.
//! *Publish*: one store lets them meet the new judge, its tables and its settings. Then, a grace period after the last
//! addition where packets in flight matter, what leaves is *released*, which nothing can refuse. A refusal at any step
//! puts back what was published, and drops what is fresh. (`upkeep` is what the tables need in between, `links` the
//! interfaces, `look` the questions.)

mod links;
mod look;
mod upkeep;

use std::path::Path;

use super::KernelError;
use super::broker::Broker;
use super::broker::request::{Request, SetName};
use super::maps::Maps;
use super::needs::{Needs, Truth};
use super::set::Set;
use super::spec::JudgeSpec;
use crate::blocklist::{Effects, Settings};

/// The tables of one daemon, and everything of the kernel's that belongs to them.
pub struct Filter {
    maps: Maps,
    block: Set,
    /// How packets are to be judged from the next publication on.
    settings: Settings,
    published: Option<JudgeSpec>,
    /// The judge that is loaded, and not published yet.
    ready: Option<JudgeSpec>,
    /// Why a larger table that had been made aside could not be published.
    in_vain: Option<KernelError>,
}

impl Filter {
    /// Opens the pins under `directory`, with the capabilities of this process.
    pub fn open(directory: &Path) -> Result<Self, KernelError> {
        Broker::here(directory).map(Self::through)
    }

    /// Tables in a kernel that `broker` holds. A filter that an earlier daemon left at work goes on until these tables have
    /// been filled and published.
    pub fn through(broker: Broker) -> Self {
        Self {
            maps: Maps::new(broker),
            block: Set::new(SetName::Block),
            settings: Settings::default(),
            published: None,
            ready: None,
            in_vain: None,
        }
    }

    /// Plans room for `needs`, and loads the judge for it; `truth` is what is wanted now. Nothing is visible before the
    /// next `apply`; if it fails, everything is as before.
    pub fn reserve(&mut self, needs: &Needs, truth: &impl Truth) -> Result<(), KernelError> {
        let planned = self.block.make_room(&needs.block, &mut self.maps, truth.block());
        // The first judge is loaded when everything is in the tables, which may grow until then.
        let is_first = self.published.is_none();
        let planned = planned.and_then(|()| if is_first { Ok(()) } else { self.prepare() });
        self.or_discard(planned)
    }

    /// Carries effects out; packets are judged by them when this returns. `truth` is what is wanted from then on. Whoever
    /// enters is in before anybody leaves: an address may be covered by one target first and by another then.
    ///
    /// If it fails, nobody has left, and [`withdraw`](Self::withdraw) undoes the rest. Leaving alone never fails.
    pub fn apply(&mut self, effects: &Effects, truth: &impl Truth) -> Result<(), KernelError> {
        let switches = self.published.is_some() && effects.settings.is_some_and(|new| new != self.settings);
        if switches && !effects.block.is_empty() {
            return self.replace_all(effects, truth);
        }
        self.settings = effects.settings.unwrap_or(self.settings);
        let entered = self.block.enter(&effects.block, &mut self.maps, truth.block());
        let published = entered.and_then(|()| self.publish());
        if let Err(error) = self.or_discard(published) {
            let only_leaves = effects.block.entered.is_empty() && !effects.block.left.is_empty();
            if switches || !only_leaves || self.published.is_none() {
                return Err(error);
            }
            tracing::warn!("what was planned beside is put off: {error}");
        }
        self.block.leave(&effects.block, truth.block());
        Ok(())
    }

    /// The same by tables made anew and one store: no packet meets what enters without what leaves, or either under other
    /// settings than its own. For kernels without grace periods, and where settings change with the targets.
    pub fn replace_all(&mut self, effects: &Effects, truth: &impl Truth) -> Result<(), KernelError> {
        self.settings = effects.settings.unwrap_or(self.settings);
        let replaced = self.replace_tables(effects, truth);
        self.or_discard(replaced)
    }

    /// Undoes what an `apply` that failed has done already, after its caller has undone the truth; `truth` is what was
    /// wanted before and is again. Needs nothing of anybody, and cannot fail.
    pub fn withdraw(&mut self, effects: &Effects, truth: &impl Truth) {
        self.discard();
        self.block.withdraw(&effects.block, truth.block());
    }

    /// How packets are judged right now, whatever is listed.
    pub fn settings(&self) -> Settings {
        self.published.as_ref().map_or_else(Settings::default, |published| published.settings)
    }

    fn replace_tables(&mut self, effects: &Effects, truth: &impl Truth) -> Result<(), KernelError> {
        self.block.refresh(&effects.block, &mut self.maps, truth.block())?;
        self.block.enter(&effects.block, &mut self.maps, truth.block())?;
        self.block.leave_fresh(&effects.block, truth.block());
        self.publish()
    }

    /// Loads the judge for the tables as they are planned, if it is not the one at work.
    fn prepare(&mut self) -> Result<(), KernelError> {
        let spec = self.spec();
        if self.published.as_ref() != Some(&spec) && self.ready.as_ref() != Some(&spec) {
            self.maps.broker().order(Request::Prepare(spec.blueprint()))?;
            self.ready = Some(spec);
        }
        Ok(())
    }

    /// Lets packets meet the judge for the tables as they are planned.
    fn publish(&mut self) -> Result<(), KernelError> {
        self.prepare()?;
        let Some(spec) = self.ready.take().filter(|ready| self.published.as_ref() != Some(ready)) else {
            return Ok(());
        };
        self.maps.broker().order(Request::Publish)?;
        self.block.publish();
        self.published = Some(spec);
        Ok(())
    }

    fn or_discard<T>(&mut self, result: Result<T, KernelError>) -> Result<T, KernelError> {
        if result.is_err() {
            self.discard();
        }
        result
    }

    /// Forgets every plan: what packets see is all there is.
    fn discard(&mut self) {
        let published = self.published.as_ref();
        self.settings = self.settings();
        self.block.discard(published.map(|spec| spec.block.clone()).unwrap_or_default(), &mut self.maps);
        self.ready = None;
    }

    fn spec(&self) -> JudgeSpec {
        JudgeSpec { settings: self.settings, block: self.block.spec() }
    }
}
