//! Something that packets see, and what is to take its place: nothing of a plan is visible until it is published.

/// What is in use, and what comes next.
#[derive(Debug)]
pub struct Staged<T> {
    current: Option<T>,
    next: Next<T>,
}

#[derive(Debug)]
enum Next<T> {
    /// What is in use stays.
    Same,
    /// This takes its place.
    Fresh(T),
    /// Nothing takes its place.
    Gone,
}

impl<T> Staged<T> {
    /// Nothing yet.
    pub const fn new() -> Self {
        Self { current: None, next: Next::Same }
    }

    /// What packets see.
    pub const fn current(&self) -> Option<&T> {
        self.current.as_ref()
    }

    /// The same, to be changed while they look on.
    pub const fn current_mut(&mut self) -> Option<&mut T> {
        self.current.as_mut()
    }

    /// What no packet sees yet.
    pub const fn fresh(&self) -> Option<&T> {
        match &self.next {
            Next::Fresh(fresh) => Some(fresh),
            Next::Same | Next::Gone => None,
        }
    }

    /// The same, to be changed.
    pub const fn fresh_mut(&mut self) -> Option<&mut T> {
        match &mut self.next {
            Next::Fresh(fresh) => Some(fresh),
            Next::Same | Next::Gone => None,
        }
    }

    /// What packets will see next.
    pub const fn newest(&self) -> Option<&T> {
        match &self.next {
            Next::Same => self.current.as_ref(),
            Next::Fresh(fresh) => Some(fresh),
            Next::Gone => None,
        }
    }

    /// The same, to be changed.
    pub const fn newest_mut(&mut self) -> Option<&mut T> {
        match &mut self.next {
            Next::Same => self.current.as_mut(),
            Next::Fresh(fresh) => Some(fresh),
            Next::Gone => None,
        }
    }

    /// Plans that `fresh` takes the place of what is in use. Gives back what was planned before.
    pub fn put(&mut self, fresh: T) -> Option<T> {
        fresh_of(std::mem::replace(&mut self.next, Next::Fresh(fresh)))
    }

    /// Plans that nothing takes the place of what is in use. Gives back what was planned before.
    pub fn drop_next(&mut self) -> Option<T> {
        fresh_of(std::mem::replace(&mut self.next, Next::Gone))
    }

    /// Forgets the plan, and gives it back.
    pub fn discard(&mut self) -> Option<T> {
        fresh_of(std::mem::replace(&mut self.next, Next::Same))
    }

    /// The plan has come true. True if something fresh is in use now.
    pub fn publish(&mut self) -> bool {
        match std::mem::replace(&mut self.next, Next::Same) {
            Next::Same => false,
            Next::Fresh(fresh) => {
                self.current = Some(fresh);
                true
            }
            Next::Gone => {
                self.current = None;
                false
            }
        }
    }
}

fn fresh_of<T>(next: Next<T>) -> Option<T> {
    match next {
        Next::Fresh(fresh) => Some(fresh),
        Next::Same | Next::Gone => None,
    }
}
