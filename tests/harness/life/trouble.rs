//! The kernel refuses memory in the middle of a change: it happens as a whole or not at all, and nothing of the trouble stays.

use super::Life;
use super::asking::{Term, ask_add};
use super::batch::Batch;
use super::prefix::Prefix;
use super::wanted::During;
use crate::{Refusal, keeper_of};

/// As many targets as one request carries: what is refused is refused as a whole.
const ONE_REQUEST: usize = 2000;

impl Life {
    pub(super) fn refused_memory(&mut self) -> Vec<Prefix> {
        if self.random.below(2) == 0 { self.add_in_trouble() } else { self.reload_in_trouble() }
    }

    /// An addition that the kernel may have no memory for; once it is well again, it is done.
    fn add_in_trouble(&mut self) -> Vec<Prefix> {
        let size = self.size().min(ONE_REQUEST);
        let mut batch = self.world.batch(&mut self.random, size);
        batch.targets.truncate(ONE_REQUEST);
        let batch = Batch::of(batch.targets, "targets");
        self.note(format!("the kernel refuses memory; add to ssh: {}", batch.words));
        let refusal = Refusal::of(keeper_of(self.net.daemon().id()), "bpf:error=ENOMEM");
        let begun = self.now();
        let reply = ask_add(self.net.home(), "ssh", &batch, Term::PERMANENT);
        let during = During(begun, self.now());
        match reply.code() {
            Some(0 | 1 | 7) => _ = self.believe_added("ssh", &batch.targets, Term::PERMANENT, during),
            // All of it is guarded.
            Some(5) => {}
            _ => _ = reply.exits(8),
        }
        self.judge(&batch.targets);
        refusal.end();
        self.judge(&batch.targets);
        self.add_batch("ssh", &batch, Term::PERMANENT);
        batch.targets
    }

    /// A reload that the kernel may have no memory for: everything of it or nothing, settings included.
    fn reload_in_trouble(&mut self) -> Vec<Prefix> {
        let words = self.alter();
        self.note(format!("the kernel refuses memory; reload: {words}"));
        self.net.configure(&self.plan.text());
        let refusal = Refusal::of(keeper_of(self.net.daemon().id()), "bpf:error=ENOMEM");
        let begun = self.now();
        let reply = self.net.filterd(["reload", "--json"]);
        let during = During(begun, self.now());
        let touched = match reply.code() {
            Some(8) => self.plan.block.clone(),
            Some(3) => {
                self.think_again();
                Vec::new()
            }
            _ => self.believe_reloaded(&reply, during),
        };
        self.judge(&touched);
        refusal.end();
        self.judge(&touched);
        if self.random.below(2) == 0 {
            return self.reload_as_planned();
        }
        self.leave_it();
        touched
    }

    /// The operator takes back what was refused. What is published next is as if it had never been asked for.
    fn leave_it(&mut self) {
        self.think_again();
        let kinds = [(false, 0xc612_0000, 19), (true, 0x2001_0db8 << 96, 33), (true, 0x2001_0db8 << 96, 64)];
        let (is_six, address, length) = kinds[self.random.below(kinds.len())];
        let length = length + self.random.below(5) as u8;
        let first_of_its_kind = Batch::of(vec![Prefix::around(is_six, address, length)], "target");
        self.add_batch("ssh", &first_of_its_kind, Term::PERMANENT);
        self.judge(&first_of_its_kind.targets);
    }
}
