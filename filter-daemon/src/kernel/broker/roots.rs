//! The root programs of all hooks in use.

use std::collections::BTreeMap;

use super::super::KernelError;
use super::super::hook::Hook;
use super::judge::Judge;
use super::mending::TamperingLog;
use super::pins::Pins;
use super::root::Root;

pub struct Roots {
    pins: Pins,
    roots: BTreeMap<Hook, Root>,
}

impl Roots {
    /// Opens the root for XDP, and those that an earlier filterd left.
    pub fn open(pins: &Pins) -> Result<Self, KernelError> {
        let mut roots = Self { pins: pins.clone(), roots: BTreeMap::new() };
        for hook in Hook::ALL {
            if hook == Hook::Xdp || pins.root(hook).exists() {
                roots.get(hook)?;
            }
        }
        Ok(roots)
    }

    /// The root of a hook, which is loaded when it is first needed.
    pub fn get(&mut self, hook: Hook) -> Result<&mut Root, KernelError> {
        if !self.roots.contains_key(&hook) {
            self.roots.insert(hook, Root::open(hook, &self.pins)?);
        }
        Ok(self.roots.get_mut(&hook).expect("it was opened"))
    }

    /// Makes packets meet this judge from now on, by one store for each hook. The slots of all other hooks are
    /// emptied.
    pub fn meet(&mut self, judge: &Judge) -> Result<(), KernelError> {
        for hook in judge.hooks() {
            let program = judge.program(hook).expect("it was named");
            self.get(hook)?.meet(program)?;
        }
        let mut unused = self.roots.iter_mut().filter(|(hook, _)| judge.program(**hook).is_none());
        unused.try_for_each(|(_, root)| root.rest())
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = (Hook, &mut Root)> {
        self.roots.iter_mut().map(|(hook, root)| (*hook, root))
    }

    /// Moves the pins of new roots to the places of the earlier ones.
    pub fn settle(&mut self) -> Result<(), KernelError> {
        let Self { pins, roots } = self;
        roots.values_mut().try_for_each(|root| root.settle(pins))
    }

    /// Restores judges in their slots.
    pub fn mend_slots(&mut self, mending: &mut TamperingLog) -> Result<(), KernelError> {
        self.roots.values_mut().try_for_each(|root| root.mend_slot(mending))
    }

    /// Restores the pins of the roots.
    pub fn mend(&mut self, mending: &mut TamperingLog) -> Result<(), KernelError> {
        let Self { pins, roots } = self;
        roots.values_mut().try_for_each(|root| root.mend(pins, mending))
    }
}
