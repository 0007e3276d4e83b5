//! Takes the owner's steps with the real blocklist and the real filter on a kernel in memory that refuses.
//! Then checks the state that must follow from each step.

use std::thread;
use std::time::Duration;

use super::memory::KernelInMemory;
use crate::blocklist::{
    Applied, Blocklist, Change, Polarity, ReleaseFrom, Settings, Targets, Timestamp, Want,
};
use crate::daemon::commit::{CommitError, Protection};
use crate::daemon::needs;
use crate::kernel::{Filter, KernelError, Needs, SetNeeds};
use filter_common::labels::Counters;
use filter_common::reason::Verdict;
use filter_common::sets::SetName;
use filter_common::target::Target;

use super::reference::Reference;
use super::step::{How, Step};
use super::universe;

/// The blocklist, the filter, the kernel below it, and the expected state.
pub struct World {
    pub kernel: KernelInMemory,
    protection: Protection,
    blocked: Reference,
    allowed: Reference,
    enforce: bool,
    /// Whether the kernel lacks grace periods.
    graceless: bool,
    /// Whether a grace period is awaited.
    grace: bool,
    /// Why larger tables were not made, or moving entries not settled.
    pub refused: Vec<KernelError>,
    /// The number of steps during which larger tables make no progress.
    dawdles: u32,
    sources: Vec<Target>,
}

/// These tests run without list counters, because they take time. `labels` tests them.
pub fn settings(enforce: bool) -> Settings {
    Settings { enforce, counters: Counters::Total, ..Settings::default() }
}

pub fn nothing() -> Blocklist {
    let mut blocklist = Blocklist::default();
    blocklist.apply(&Change::Settings(settings(true)), at(0)).expect("nothing is in the way");
    blocklist
}

impl World {
    /// A world in which nothing is blocked, and that is published. `blocklist` must be empty; it is reused
    /// because making one takes time. With `is_slow`, every map that can be waited for is slow.
    pub fn new(graceless: bool, is_slow: bool, blocklist: Blocklist) -> Self {
        let kernel = KernelInMemory::default();
        let filter = Filter::through(kernel.broker());
        let protection = Protection::begin(blocklist, filter).expect("the kernel is well");
        if is_slow {
            kernel.be_slow();
        }
        // The sequence before may have changed this setting.
        let enforce = protection.blocklist().settings().enforce;
        let sources = universe::sources();
        Self {
            kernel,
            protection,
            blocked: Reference::new(),
            allowed: Reference::new(),
            enforce,
            graceless,
            grace: false,
            refused: Vec::new(),
            dawdles: 0,
            sources,
        }
    }

    /// Returns the blocklist, which must be empty again.
    pub fn end(self) -> Blocklist {
        assert_eq!(self.blocked.targets().chain(self.allowed.targets()).next(), None);
        self.protection.end()
    }

    pub fn filter(&self) -> &Filter {
        self.protection.filter()
    }

    /// Takes one step. A step that the kernel refuses must have no effect.
    pub fn take(&mut self, step: &Step) -> Result<(), CommitError> {
        let taken = match step {
            Step::Add(targets) => self.add(targets, true),
            Step::AddAtOnce(targets) => self.add(targets, false),
            Step::Remove(targets) => self.remove(targets),
            Step::Allow(targets) => self.commit(&allow(targets.iter().copied().collect())),
            Step::Disallow(targets) => self.disallow(targets),
            Step::LookForOverlap => self.commit(&Change::LookForOverlap),
            Step::Reload(targets, allowed, how) => self.reload(targets, allowed, *how),
            Step::Enforce(enforce) => self.switch(*enforce),
            Step::Settle => Ok(()),
            Step::Grow { six } => {
                self.dawdles = 3;
                let (filter, blocklist) = self.protection.parts();
                let (addresses, six) =
                    if *six { (0, filter.six().capacity + 1) } else { (filter.addresses().capacity + 1, 0) };
                let needs = Needs::from(SetNeeds { addresses, six, ..SetNeeds::default() });
                filter.grow_aside(&needs, blocklist).map(drop).map_err(CommitError::from)
            }
            Step::GraceIsOver => {
                self.grace = false;
                Ok(())
            }
            Step::Foresee(targets) => {
                let needs =
                    self.protection.needs_with(SetName::Block.into(), &targets.iter().copied().collect());
                let (filter, blocklist) = self.protection.parts();
                filter.reserve_aside(&needs, blocklist).map(drop).map_err(CommitError::from)
            }
            Step::Inflate => {
                let needs =
                    Needs::from(SetNeeds { addresses: 20_000, six: 20_000, ..self.needs().sets.block });
                let (filter, blocklist) = self.protection.parts();
                filter.reserve(&needs, blocklist).map_err(CommitError::from)
            }
            Step::Shrink => {
                let needs = self.needs();
                let (filter, blocklist) = self.protection.parts();
                filter.shrink_to(&needs, blocklist).map_err(CommitError::from)
            }
            Step::Tidy => {
                let needs = self.needs();
                self.protection.filter_mut().tidy(&needs).map_err(CommitError::from)
            }
        };
        self.settle();
        taken
    }

    /// Waits until no larger table is in the making and no entry is being moved.
    pub fn come_to_rest(&mut self) {
        self.dawdles = 0;
        for _ in 0..100_000 {
            self.grace = false;
            self.settle();
            if !self.filter().is_growing() && !self.filter().is_awaiting_judge() && !self.grace {
                return;
            }
        }
        panic!("it never comes to rest");
    }

    /// The first difference from the expected state.
    pub fn trouble(&self) -> Option<String> {
        let asked = self.sources.iter().map(|host| universe::source(*host));
        let met = self.kernel.judge_all(asked);
        for (host, verdict) in self.sources.iter().zip(met) {
            let wanted = self.blocked.covers(*host) && !self.allowed.covers(*host);
            let dropped = matches!(verdict, Verdict::Drop(_));
            if dropped != wanted {
                return Some(format!("{host} is {}", if dropped { "dropped" } else { "let through" }));
            }
        }
        let [addresses, six] = self.filter().allowed();
        for (held, wanted) in [
            ((self.filter().addresses().entries, self.filter().six().entries), self.blocked.entries()),
            ((addresses.entries, six.entries), self.allowed.entries()),
        ] {
            if held != wanted {
                return Some(format!("{held:?} entries, but {wanted:?} are wanted"));
            }
        }
        let published = self.kernel.settings().map(|settings| settings.enforce);
        let told = (published, self.filter().settings().enforce);
        if told != (Some(self.enforce.into()), self.enforce) {
            return Some(format!("enforcing is {told:?}, but {} was chosen", self.enforce));
        }
        if let Some(damage) = self.protection.damage(self.kernel.requests() as usize) {
            return Some(format!("nobody has touched the tables, but {damage}"));
        }
        let one = universe::source(self.sources[self.blocked.entries().0 as usize % self.sources.len()]);
        (self.filter().judge(one) != self.kernel.judge(one)).then(|| "test and packets disagree".to_owned())
    }

    /// Pins without use, once nothing is in the making.
    pub fn leak(&self) -> Option<String> {
        let (mut pinned, mut used) = self.kernel.pins();
        pinned.sort();
        used.sort();
        (pinned != used).then(|| format!("pinned are {pinned:?}, used {used:?}"))
    }

    pub fn everything(&self) -> Vec<Target> {
        self.blocked.targets().collect()
    }

    pub fn everything_allowed(&self) -> Vec<Target> {
        self.allowed.targets().collect()
    }

    fn add(&mut self, targets: &[Target], waits: bool) -> Result<(), CommitError> {
        let targets: Targets = targets.iter().copied().collect();
        let needs = self.protection.needs_with(SetName::Block.into(), &targets);
        let is_small = targets.len() < 4;
        if waits && !is_small && !self.filter().has_room(&needs) {
            // Waits for its turn, as a client does. If no larger table can be made in the background, the
            // addition reports the error.
            let mut rounds = 0;
            while self.grows_for(&needs) {
                (self.grace, self.dawdles) = (false, 0);
                self.settle();
                rounds += 1;
                assert!(rounds < 100_000, "who waits for {needs:?} waits for ever");
            }
        }
        self.commit(&want(targets))
    }

    fn grows_for(&mut self, needs: &Needs) -> bool {
        let (filter, blocklist) = self.protection.parts();
        filter.grow_aside(needs, blocklist).is_ok_and(|growing| growing.any())
    }

    fn remove(&mut self, targets: &[Target]) -> Result<(), CommitError> {
        let removed = self.commit(&release(targets.iter().copied().collect()));
        assert!(removed.is_ok(), "who leaves is not refused: {removed:?}");
        removed
    }

    fn disallow(&mut self, targets: &[Target]) -> Result<(), CommitError> {
        let ended = self.commit(&disallow(targets.iter().copied().collect()));
        assert!(ended.is_ok(), "who leaves is not refused: {ended:?}");
        ended
    }

    fn switch(&mut self, enforce: bool) -> Result<(), CommitError> {
        self.commit(&Change::Settings(settings(enforce)))
    }

    fn reload(&mut self, blocked: &[Target], allowed: &[Target], how: How) -> Result<(), CommitError> {
        let [blocked, allowed] =
            [blocked, allowed].map(|targets| targets.iter().copied().collect::<Targets>());
        let over = |all: &Reference, new: &Targets| all.targets().filter(|one| !new.contains(*one)).collect();
        let release = release(over(&self.blocked, &blocked));
        let disallow = disallow(over(&self.allowed, &allowed));
        let (want, allow) = (want(blocked), allow(allowed));
        match how {
            How::InTurn => {
                for change in [&allow, &want, &release] {
                    self.commit(change)?;
                    self.settle();
                }
                self.commit(&disallow)
            }
            How::AtOnce(enforce) => {
                let changes = [Change::Settings(settings(enforce)), allow, want, release, disallow];
                let done = self.protection.replace(&changes.map(|change| (at(1), change)))?;
                done.iter().for_each(|applied| self.note(applied));
                Ok(())
            }
        }
    }

    fn commit(&mut self, change: &Change) -> Result<(), CommitError> {
        let applied = self.protection.commit(change, at(1))?;
        self.note(&applied);
        Ok(())
    }

    fn note(&mut self, applied: &Applied) {
        let sides = [
            (&applied.effects.sets.block, &mut self.blocked),
            (&applied.effects.sets.allow, &mut self.allowed),
        ];
        for (effects, reference) in sides {
            effects.entered.iter().for_each(|target| reference.enter(target));
            effects.left.iter().for_each(|target| reference.leave(target));
        }
        self.enforce = applied.effects.settings.map_or(self.enforce, |settings| settings.enforce);
    }

    /// Settles as the main loop does after each event.
    fn settle(&mut self) {
        if self.filter().is_growing() {
            if self.dawdles > 0 {
                self.dawdles -= 1;
                return;
            }
            // Long enough for the thread to finish almost always, so that repeated runs behave alike.
            thread::sleep(Duration::from_micros(100));
        }
        let (filter, blocklist) = self.protection.parts();
        let settled = if self.graceless {
            filter.settle_anew(blocklist).map(|()| false)
        } else if !self.grace {
            filter.settle(blocklist)
        } else {
            return;
        };
        match settled {
            Ok(due) => self.grace = due,
            Err(error) => self.refused.push(error),
        }
    }

    fn needs(&self) -> Needs {
        needs::of(self.protection.blocklist())
    }
}

pub fn want(targets: Targets) -> Change {
    wanted("manual", Polarity::Block, targets)
}

fn allow(targets: Targets) -> Change {
    wanted("allowed", Polarity::Allow, targets)
}

fn disallow(targets: Targets) -> Change {
    Change::Release { from: ReleaseFrom::EveryLiveList(Polarity::Allow), targets }
}

fn wanted(list: &str, polarity: Polarity, targets: Targets) -> Change {
    Change::Want(Want::live(list, polarity, targets))
}

pub fn release(targets: Targets) -> Change {
    Change::Release { from: ReleaseFrom::EveryLiveList(Polarity::Block), targets }
}

pub fn at(seconds: u32) -> Timestamp {
    Timestamp::from_secs(seconds)
}
