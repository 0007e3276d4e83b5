//! Long work as async functions, which take turns in the owner's task. A job does one page of work in each of
//! its turns, and requests are served between two turns.
//!
//! Jobs and the loop share the owner's state, and only one of them runs at a time. Therefore the state is
//! always free in a job's turn.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use tokio::sync::{Mutex, MutexGuard, Notify};

use super::commit::LatestCommits;
use super::core::Core;

/// How soon a waiting job is tried again if no other event happens.
const POLL: Duration = Duration::from_millis(100);

/// A job that was begun.
pub type Job = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The turns of one job after another, with the state that they share.
pub struct Turn<S> {
    state: Arc<Mutex<S>>,
    turn: Arc<TurnUse>,
}

/// How the job that has its turn uses it.
#[derive(Default)]
struct TurnUse {
    /// It has done a page.
    is_used: AtomicBool,
    /// It has another page to do, and waits for nothing but its next turn.
    has_more: AtomicBool,
}

/// All jobs under way.
pub struct Jobs<S> {
    turn: Turn<S>,
    queue: VecDeque<Job>,
    /// How many of them have waited, one after another, since the last event.
    waiting: usize,
    woken: Arc<Woken>,
}

/// Notified when something that a job awaits has happened.
#[derive(Default)]
struct Woken(Notify);

/// What the loop has to wait for.
pub struct JobsOutlook {
    /// A job can do something now.
    pub are_due: bool,
    /// The interval for trying waiting jobs again, if any waits.
    pub poll: Option<Duration>,
    woken: Arc<Woken>,
}

/// Jobs that the owner has begun, until they get their first turn.
pub struct NewJobs<S>(Vec<JobStart<S>>);

type JobStart<S> = Box<dyn FnOnce(Turn<S>) -> Job + Send>;

impl<S> Clone for Turn<S> {
    fn clone(&self) -> Self {
        Self { state: self.state.clone(), turn: self.turn.clone() }
    }
}

impl<S: AsMut<Core>> Turn<S> {
    /// Does a page of work in the next turn.
    pub async fn page<T>(&self, page: impl FnOnce(&mut Core) -> T) -> T {
        self.next().await;
        self.core(page)
    }

    /// Uses the core in the present turn.
    pub fn core<T>(&self, work: impl FnOnce(&mut Core) -> T) -> T {
        self.now(|state| work(state.as_mut()))
    }

    /// Tries to do a page of work in the next turn, and again after each event, until there is a result.
    pub async fn until<T>(&self, mut attempt: impl FnMut(&mut Core) -> Option<T>) -> T {
        self.until_some(|state| attempt(state.as_mut())).await
    }

    /// Waits until packets in flight have seen this commit.
    pub async fn seen(&self, commit: impl FnOnce(LatestCommits) -> u64) {
        let commit = self.core(|core| commit(core.protection.latest()));
        self.until(|core| core.capacity.check_grace(commit).then_some(())).await;
    }
}

impl<S> Turn<S> {
    /// Waits for a turn that is not used yet, and uses it.
    pub async fn next(&self) {
        poll_fn(|_| {
            let is_used = self.turn.is_used.swap(true, Ordering::Relaxed);
            self.turn.has_more.store(is_used, Ordering::Relaxed);
            if is_used { Poll::Pending } else { Poll::Ready(()) }
        })
        .await;
    }

    /// Waits for an event and the turn after it.
    pub async fn event(&self) {
        let mut has_waited = false;
        poll_fn(|_| match std::mem::replace(&mut has_waited, true) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        })
        .await;
        self.next().await;
    }

    /// Like `until`, with the whole state.
    pub async fn until_some<T>(&self, mut attempt: impl FnMut(&mut S) -> Option<T>) -> T {
        self.next().await;
        loop {
            if let Some(done) = self.now(&mut attempt) {
                return done;
            }
            self.event().await;
        }
    }

    /// Uses the state in the present turn.
    pub fn now<T>(&self, work: impl FnOnce(&mut S) -> T) -> T {
        work(&mut self.hold())
    }

    /// The state in the present turn, for work that awaits something. Nobody else runs until it is let go.
    pub fn hold(&self) -> MutexGuard<'_, S> {
        self.state.try_lock().expect("only one job or the loop runs at a time")
    }
}

impl<S> Jobs<S> {
    /// No jobs yet, for this state.
    pub fn of(state: Arc<Mutex<S>>) -> Self {
        let turn = Turn { state, turn: Arc::default() };
        Self { turn, queue: VecDeque::new(), waiting: 0, woken: Arc::default() }
    }

    /// Gives new jobs their first turn at once.
    pub async fn begin(&mut self, new: NewJobs<S>) {
        for start in new.0 {
            let job = start(self.turn.clone());
            self.take_turn(job).await;
        }
    }

    /// Gives the next job its turn if it can do something, and puts it at the end of the queue.
    pub async fn turn(&mut self) {
        if self.are_due()
            && let Some(job) = self.queue.pop_front()
        {
            self.take_turn(job).await;
        }
    }

    async fn take_turn(&mut self, mut job: Job) {
        let TurnUse { is_used, has_more } = &*self.turn.turn;
        is_used.store(false, Ordering::Relaxed);
        has_more.store(false, Ordering::Relaxed);
        let waker = Waker::from(self.woken.clone());
        let mut all_wait = true;
        let is_over = loop {
            let is_over = job.as_mut().poll(&mut Context::from_waker(&waker)).is_ready();
            // A job that awaits something while it holds the state goes on before anything else.
            if is_over || self.turn.state.try_lock().is_ok() {
                break is_over;
            }
            self.woken.0.notified().await;
            all_wait = false;
        };
        let waits = !is_over && !has_more.load(Ordering::Relaxed) && all_wait;
        self.waiting = if waits { self.waiting + 1 } else { 0 };
        if !is_over {
            self.queue.push_back(job);
        }
    }

    /// Whether a job can do something now.
    fn are_due(&self) -> bool {
        self.waiting < self.queue.len()
    }

    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Begins one job, as the owner does.
    #[cfg(test)]
    pub async fn begin_one<F: Future<Output = ()> + Send + 'static>(
        &mut self,
        job: impl FnOnce(Turn<S>) -> F + Send + 'static,
    ) where
        S: 'static,
    {
        let mut new = NewJobs::default();
        new.begin(job);
        self.begin(new).await;
    }

    /// Lets waiting jobs try again after an event.
    pub fn wake(&mut self) {
        self.waiting = 0;
    }

    /// What the loop has to wait for.
    pub fn outlook(&self) -> JobsOutlook {
        JobsOutlook { are_due: self.are_due(), poll: self.poll(), woken: self.woken.clone() }
    }

    /// The interval for trying waiting jobs again, if any waits.
    pub fn poll(&self) -> Option<Duration> {
        (self.waiting > 0).then_some(POLL)
    }
}

impl JobsOutlook {
    /// Waits until something happens that a job awaits.
    pub async fn woken(&self) {
        self.woken.0.notified().await;
    }
}

impl<S> Default for NewJobs<S> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<S: 'static> NewJobs<S> {
    /// Begins a job. Its first turn comes before the next request is served.
    pub fn begin<F: Future<Output = ()> + Send + 'static>(
        &mut self,
        job: impl FnOnce(Turn<S>) -> F + Send + 'static,
    ) {
        self.0.push(Box::new(|turn| Box::pin(job(turn))));
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.notify_one();
    }
}

/// Runs a job alone to its end with this state, and calls `between` after each of its turns.
#[cfg(test)]
pub fn run_alone<S, T>(state: S, job: impl AsyncFnOnce(&Turn<S>) -> T, mut between: impl FnMut(&mut S)) -> T {
    let turn = Turn { state: Arc::new(Mutex::new(state)), turn: Arc::default() };
    let mut job = std::pin::pin!(job(&turn));
    loop {
        turn.turn.is_used.store(false, Ordering::Relaxed);
        let ended = job.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        turn.now(&mut between);
        if let Poll::Ready(ended) = ended {
            return ended;
        }
    }
}
