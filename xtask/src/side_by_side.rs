//! Several things done at once, but not too many.

use std::panic::resume_unwind;
use std::sync::{Condvar, Mutex};
use std::thread;

/// How many tasks may run at a time. More may be allowed while they run.
pub struct Places {
    free: Mutex<usize>,
    freed: Condvar,
}

/// One task has it while it runs, also when it panics.
struct Place<'a>(&'a Places);

impl Places {
    pub fn new(number: usize) -> Self {
        Self { free: Mutex::new(number.max(1)), freed: Condvar::new() }
    }

    /// Lets one task more run beside the others.
    pub fn add(&self) {
        *self.free.lock().expect("counting cannot panic") += 1;
        self.freed.notify_one();
    }

    fn take(&self) -> Place<'_> {
        let free = self.free.lock().expect("counting cannot panic");
        let mut free = self.freed.wait_while(free, |free| *free == 0).expect("counting cannot panic");
        *free -= 1;
        Place(self)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.add();
    }
}

/// Does all of them, at most `most` at a time, and returns what they return in their order.
pub fn all<T: Send>(most: usize, tasks: Vec<impl FnOnce() -> T + Send>) -> Vec<T> {
    let most = most.max(1);
    by(most, &Places::new(most), tasks)
}

/// The same, as many at a time as there are places.
pub fn within<T: Send>(places: &Places, tasks: Vec<impl FnOnce() -> T + Send>) -> Vec<T> {
    by(tasks.len(), places, tasks)
}

fn by<T: Send>(workers: usize, places: &Places, tasks: Vec<impl FnOnce() -> T + Send>) -> Vec<T> {
    let waiting = Mutex::new(tasks.into_iter().enumerate());
    let next = || waiting.lock().expect("taking the next one cannot panic").next();
    let work = || {
        let mut done = Vec::new();
        loop {
            let _place = places.take();
            let Some((number, task)) = next() else { return done };
            done.push((number, task()));
        }
    };
    let mut done: Vec<(usize, T)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .flat_map(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic)))
            .collect()
    });
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn parallel_jobs_are_ordered_and_limited() {
        let (running, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let tasks = (0..20).map(|number| {
            let (running, most) = (&running, &most);
            move || {
                most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                thread::yield_now();
                running.fetch_sub(1, Ordering::SeqCst);
                number
            }
        });
        assert_eq!(all(3, tasks.collect()), (0..20).collect::<Vec<_>>());
        assert!(most.into_inner() <= 3);
    }
    #[test]
    fn added_place_lets_next_job_start_beside_a_running_one() {
        let (places, both) = (Places::new(1), Barrier::new(2));
        let meet = || both.wait();
        thread::scope(|scope| {
            let tasks = scope.spawn(|| within(&places, vec![meet, meet]));
            places.add();
            assert_eq!(tasks.join().expect("no task panics").len(), 2);
        });
    }
}
