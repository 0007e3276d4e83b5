//! What a filter must be able to do to be measured here, and all of those that can.

use filterd_paper::packed::Packed;
use filterd_paper::semisorted::SemiSorted;

use crate::instructions::{self, Work};
use crate::own::{Exact, Lanes, Partial};
use crate::peers;
use crate::sample::{self, Sample, Tasks};

/// A filter of IPv4 addresses.
pub trait Subject: Sized {
    /// How people call it.
    const NAME: &'static str;
    /// Does it take members in and out one at a time?
    const CHANGES: Changes;

    /// One for so many members.
    fn with_room_for(members: usize) -> Self;

    /// One with these members.
    fn of(members: &[u64]) -> Self {
        let mut filter = Self::with_room_for(members.len());
        members.iter().for_each(|&member| _ = filter.insert(member));
        filter
    }

    /// Lets `member` in, or says that there is no room.
    fn insert(&mut self, member: u64) -> bool;

    /// Might it be a member?
    fn contains(&self, address: u64) -> bool;

    /// Takes `member` out.
    fn remove(&mut self, member: u64);

    /// The memory that it takes.
    fn bits(&self) -> u64;

    /// How many there could be, were every slot taken; none where nothing is ever refused.
    fn slots(&self) -> Option<u64> {
        None
    }
}

/// What one can do with it once it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changes {
    /// Nothing: it is made of all its members at once.
    None,
    /// Let somebody in.
    Insert,
    /// Let somebody in, and take him out again.
    Both,
}

/// A subject as something to be measured.
pub trait Measurable {
    /// How people call it.
    fn name(&self) -> &'static str;
    /// Times and errors.
    fn sample(&self, tasks: &Tasks, is_first: bool) -> Sample;
    /// The load at which it refuses somebody.
    fn refusal(&self, members: usize) -> Option<f64>;
    /// Everything once, for callgrind.
    fn once(&self, work: &Work);
}

struct Of<S>(std::marker::PhantomData<S>);

impl<S: Subject> Measurable for Of<S> {
    fn name(&self) -> &'static str {
        S::NAME
    }

    fn sample(&self, tasks: &Tasks, is_first: bool) -> Sample {
        sample::take::<S>(tasks, is_first)
    }

    fn refusal(&self, members: usize) -> Option<f64> {
        sample::refusal::<S>(members)
    }

    fn once(&self, work: &Work) {
        instructions::perform::<S>(work);
    }
}

/// All of them, in the order of the tables.
pub struct Subjects(Vec<Box<dyn Measurable>>);

impl Subjects {
    pub fn all() -> Self {
        fn of<S: Subject + 'static>() -> Box<dyn Measurable> {
            Box::new(Of::<S>(std::marker::PhantomData))
        }
        Self(vec![
            of::<Exact<{ Lanes::BY_SIZE }>>(),
            of::<Exact<{ Lanes::BY_SIZE }, false>>(),
            of::<Exact<{ Lanes::SIXTEEN }>>(),
            of::<Partial<Packed, 16>>(),
            of::<Partial<Packed, 12>>(),
            of::<Partial<Packed, 8>>(),
            of::<Partial<SemiSorted, 13>>(),
            of::<peers::Cuckoofilter>(),
            of::<peers::Scalable>(),
            of::<peers::Qfilter>(),
            of::<peers::Fastbloom>(),
            of::<peers::Fuse>(),
            of::<peers::Set>(),
        ])
    }

    pub fn iter(&self) -> impl Iterator<Item = &dyn Measurable> {
        self.0.iter().map(|subject| &**subject)
    }

    pub fn get(&self, number: usize) -> Option<&dyn Measurable> {
        self.0.get(number).map(|subject| &**subject)
    }
}
