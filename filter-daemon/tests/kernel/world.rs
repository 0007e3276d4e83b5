//! The owner's own steps around the real blocklist and the real filter, over a kernel in memory that refuses; and what must
//! be so after each of them.

use std::thread;
use std::time::Duration;

use filter_common::settings::ENFORCE;
use filter_common::target::Target;
use filter_common::verdict::Verdict;
use filterd::blocklist::{Blocklist, Claim, Effects, Kind, ListId, Settings, Targets, Timestamp};
use filterd::daemon::needs;
use filterd::kernel::memory::Memory;
use filterd::kernel::{Filter, KernelError, Needs};

use crate::reference::Reference;
use crate::step::{How, Step};
use crate::universe;

/// The truth, the filter, the kernel behind it, and what ought to be.
pub struct World {
    pub kernel: Memory,
    pub filter: Filter,
    blocklist: Blocklist,
    list: ListId,
    reference: Reference,
    enforce: bool,
    /// The kernel has no grace periods.
    graceless: bool,
    /// A grace period is awaited.
    grace: bool,
    /// Why larger tables were not made, or entries on the move not settled.
    pub refused: Vec<KernelError>,
    /// For so many steps a larger table in the making does not get on.
    dawdles: u32,
    sources: Vec<Target>,
}

impl World {
    /// Nothing is blocked, and that is published. `blocklist` is empty; to make another one takes its time.
    pub fn new(graceless: bool, mut blocklist: Blocklist) -> Self {
        let kernel = Memory::default();
        let list = blocklist.lists_mut().get_or_make("manual", Kind::Live).expect("it is the first");
        let mut filter = Filter::through(kernel.broker());
        filter.apply(&Effects::default(), &blocklist).expect("the kernel is well");
        let sources = universe::sources();
        Self {
            kernel,
            filter,
            blocklist,
            list,
            reference: Reference::new(),
            enforce: true,
            graceless,
            grace: false,
            refused: Vec::new(),
            dawdles: 0,
            sources,
        }
    }

    /// The blocklist, which is empty again.
    pub fn end(self) -> Blocklist {
        assert_eq!(self.reference.targets().next(), None);
        self.blocklist
    }

    /// Takes one step; what the kernel refuses has not happened.
    pub fn take(&mut self, step: &Step) -> Result<(), KernelError> {
        let taken = match step {
            Step::Add(targets) => self.add(targets, true),
            Step::AddAtOnce(targets) => self.add(targets, false),
            Step::Remove(targets) => self.remove(targets),
            Step::Reload(targets, how) => self.reload(targets, *how),
            Step::Enforce(enforce) => self.switch(*enforce),
            Step::Settle => Ok(()),
            Step::Grow { six } => {
                self.dawdles = 3;
                let (addresses, six) = if *six {
                    (0, self.filter.six().capacity + 1)
                } else {
                    (self.filter.addresses().capacity + 1, 0)
                };
                let needs = Needs { addresses, six, ..Needs::default() };
                self.filter.grow_aside(&needs, &self.blocklist).map(drop)
            }
            Step::GraceIsOver => {
                self.grace = false;
                Ok(())
            }
            Step::Inflate => {
                let needs = Needs { addresses: 20_000, six: 20_000, ..self.needs() };
                self.filter.reserve(&needs, &self.blocklist)
            }
            Step::Shrink => self.filter.shrink_to(&self.needs(), &self.blocklist),
            Step::Tidy => self.filter.tidy(&self.needs()),
        };
        self.settle();
        taken
    }

    /// Waits until no larger table is in the making and nobody is on the move.
    pub fn come_to_rest(&mut self) {
        self.dawdles = 0;
        for _ in 0..100_000 {
            self.grace = false;
            self.settle();
            if !self.filter.is_growing() && !self.grace {
                return;
            }
        }
        panic!("it never comes to rest");
    }

    /// The first thing that is not as it ought to be.
    pub fn trouble(&self) -> Option<String> {
        let asked = self.sources.iter().map(|host| universe::source(*host));
        let met = self.kernel.judge_all(asked);
        for (host, verdict) in self.sources.iter().zip(met) {
            let (dropped, wanted) = (matches!(verdict, Verdict::Drop(_)), self.reference.blocks(*host));
            if dropped != wanted {
                return Some(format!("{host} is {}", if dropped { "dropped" } else { "let through" }));
            }
        }
        let held = (self.filter.addresses().entries, self.filter.six().entries);
        if held != self.reference.entries() {
            return Some(format!("{held:?} entries, but {:?} are wanted", self.reference.entries()));
        }
        let told = (self.kernel.setting(ENFORCE), self.filter.settings().enforce);
        if told != (Some(self.enforce.into()), self.enforce) {
            return Some(format!("enforcing is {told:?}, but {} was chosen", self.enforce));
        }
        let one = universe::source(self.sources[self.reference.entries().0 as usize % self.sources.len()]);
        (self.filter.judge(one) != self.kernel.judge(one)).then(|| "test and packets disagree".to_owned())
    }

    /// Once nothing is in the making: pins that nobody needs.
    pub fn leak(&self) -> Option<String> {
        let (mut pinned, mut used) = self.kernel.pins();
        pinned.sort();
        used.sort();
        (pinned != used).then(|| format!("pinned are {pinned:?}, used {used:?}"))
    }

    /// Everything that is blocked.
    pub fn everything(&self) -> Vec<Target> {
        self.reference.targets().collect()
    }

    fn add(&mut self, targets: &[Target], waits: bool) -> Result<(), KernelError> {
        let targets: Targets = targets.iter().copied().collect();
        let needs = needs::with(&self.blocklist, targets.iter());
        let is_small = targets.len() < 4;
        if waits && !is_small && !self.filter.has_room(&needs) {
            // As somebody who waits for his turn; where nothing can be made aside, the addition itself is told.
            let mut rounds = 0;
            while self.filter.grow_aside(&needs, &self.blocklist).is_ok_and(|growing| growing.any()) {
                (self.grace, self.dawdles) = (false, 0);
                self.settle();
                rounds += 1;
                assert!(rounds < 100_000, "who waits for {needs:?} waits for ever");
            }
        }
        self.filter.reserve(&needs, &self.blocklist)?;
        let mut effects = Effects::default();
        self.blocklist.add_all(&targets, &self.claim(), &mut effects);
        self.commit(effects, Filter::apply)
    }

    fn remove(&mut self, targets: &[Target]) -> Result<(), KernelError> {
        let mut effects = Effects::default();
        for target in targets {
            self.blocklist.remove(*target, self.list, &mut effects);
        }
        let removed = self.commit(effects, Filter::apply);
        assert!(removed.is_ok(), "who leaves is not refused: {removed:?}");
        removed
    }

    fn switch(&mut self, enforce: bool) -> Result<(), KernelError> {
        self.commit(Effects { settings: Some(Settings { enforce }), ..Effects::default() }, Filter::apply)
    }

    fn reload(&mut self, targets: &[Target], how: How) -> Result<(), KernelError> {
        let targets: Targets = targets.iter().copied().collect();
        self.filter.reserve(&needs::with(&self.blocklist, targets.iter()), &self.blocklist)?;
        let mut effects = Effects::default();
        self.blocklist.add_all(&targets, &self.claim(), &mut effects);
        if let How::InTwo = how {
            self.commit(std::mem::take(&mut effects), Filter::apply)?;
            self.settle();
        }
        self.blocklist.retain(self.list, &targets, &mut effects);
        match how {
            How::InTwo => self.commit(effects, Filter::apply),
            How::InOne(enforce) => {
                effects.settings = Some(Settings { enforce });
                self.commit(effects, Filter::apply)
            }
            How::Anew(enforce) => {
                effects.settings = Some(Settings { enforce });
                self.commit(effects, Filter::replace_all)
            }
        }
    }

    /// Carries effects out that the truth knows already; undoes the truth, too, if the kernel refuses.
    fn commit(
        &mut self,
        effects: Effects,
        carry_out: fn(&mut Filter, &Effects, &Blocklist) -> Result<(), KernelError>,
    ) -> Result<(), KernelError> {
        if let Err(error) = carry_out(&mut self.filter, &effects, &self.blocklist) {
            let mut undone = Effects::default();
            for target in effects.block.entered.iter() {
                self.blocklist.remove(target, self.list, &mut undone);
            }
            self.blocklist.add_all(&effects.block.left, &self.claim(), &mut undone);
            self.filter.withdraw(&effects, &self.blocklist);
            return Err(error);
        }
        effects.block.entered.iter().for_each(|target| self.reference.enter(target));
        effects.block.left.iter().for_each(|target| self.reference.leave(target));
        self.enforce = effects.settings.map_or(self.enforce, |settings| settings.enforce);
        Ok(())
    }

    /// As the loop does after each event.
    fn settle(&mut self) {
        if self.filter.is_growing() {
            if self.dawdles > 0 {
                self.dawdles -= 1;
                return;
            }
            // Long enough for the thread to be done nearly always: stories are told twice alike.
            thread::sleep(Duration::from_micros(100));
        }
        let settled = if self.graceless {
            self.filter.settle_anew(&self.blocklist).map(|()| false)
        } else if !self.grace {
            self.filter.settle(&self.blocklist)
        } else {
            return;
        };
        match settled {
            Ok(due) => self.grace = due,
            Err(error) => self.refused.push(error),
        }
    }

    fn needs(&self) -> Needs {
        needs::at_most(&self.blocklist, std::iter::empty())
    }

    fn claim(&self) -> Claim {
        Claim { list: self.list, since: Timestamp::from_secs(1), until: None, note: None }
    }
}
