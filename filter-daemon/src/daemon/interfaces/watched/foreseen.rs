//! Predicts what a reload would do to an interface, without changing anything.

use super::{AttachedTo, InterfaceState, WatchedInterface};
use crate::config::Mode;
use crate::daemon::interfaces::KernelState;
use crate::doctor;
use crate::kernel::interface::Framing;
use crate::kernel::{Attachment, KernelInterface};
use crate::text::Explanation;

impl WatchedInterface {
    /// Becomes what it would be after the reload. An interface that refuses now would refuse again in the
    /// same mode. One that was delayed because the filter was detached repeatedly would be tried by the
    /// reload.
    pub(in crate::daemon::interfaces) fn foresee(
        &mut self,
        reality: &KernelState,
        modes: ModeChange,
        was_put_off: bool,
    ) {
        self.find_left(reality);
        if self.is_over() {
            return;
        }
        let InterfaceState::Waiting(waiting) = &mut self.state else { return };
        let Some(here) = reality.named(&self.name) else {
            waiting.is_there = false;
            return;
        };
        self.need_not_be_there = false;
        let refuses = waiting.is_there && waiting.why.is_some() && !was_put_off && modes.are_the_same();
        waiting.is_there = true;
        let is_linked = reality.link(&self.name).is_some_and(|link| link.index == here.index);
        let refusal = modes.refusal_of(here);
        match &here.occupant {
            _ if refuses => {}
            Some(occupant) if !is_linked && modes.then == Mode::Native => {
                let message = format!("another XDP program is attached (id {})", occupant.id);
                let remedy =
                    format!("to see whose it is and how to remove it: filterd doctor --iface {}", here.name);
                waiting.why = Some(Explanation::new(message, remedy));
            }
            _ if refusal.is_some() && !is_linked => waiting.why = refusal,
            _ => {
                let link = reality.link(&self.name).filter(|_| is_linked);
                let program = link.map_or(0, |link| link.program);
                self.state = InterfaceState::Attached(
                    Attachment {
                        index: here.index,
                        mode: None,
                        reason: None,
                        program,
                        framing: here.framing,
                    },
                    AttachedTo::Here,
                );
            }
        }
    }

    /// Whether attempts were delayed because someone detaches the filter repeatedly.
    pub(in crate::daemon::interfaces) fn is_put_off(&self) -> bool {
        matches!(&self.state, InterfaceState::Waiting(waiting) if waiting.held_back.is_some())
    }
}

/// How filterd attaches to interfaces.
#[derive(Clone, Copy, Debug)]
pub struct ModeChange {
    /// The mode before the reload.
    pub now: Mode,
    /// The mode after the reload.
    pub then: Mode,
}

impl ModeChange {
    /// Whether an interface that refuses now would refuse again. It is tried at least every ten seconds.
    pub fn are_the_same(self) -> bool {
        self.now == self.then
    }

    /// Why this interface would refuse, as far as the kernel reports that without an attempt.
    pub fn refusal_of(self, interface: &KernelInterface) -> Option<Explanation> {
        if self.then != Mode::Native {
            return None;
        }
        let message = match interface.framing {
            Framing::Bare => "`mode` is native, but its frames have no Ethernet header",
            Framing::Ethernet | Framing::Unknown => {
                (doctor::runs_programs(interface.index) == Some(false))
                    .then_some("`mode` is native, but the kernel says that its driver does not support XDP")?
            }
        };
        let name = &interface.name;
        let remedy = format!("`mode: auto` works, by TC\nto see more: filterd doctor --iface {name}");
        Some(Explanation::new(message, remedy))
    }
}
