//! Several things done at once, but not too many.

use std::panic::resume_unwind;
use std::sync::Mutex;
use std::thread;

/// Does all of them, at most `most` at a time, and returns what they return in their order.
pub fn all<T: Send>(most: usize, tasks: Vec<impl FnOnce() -> T + Send>) -> Vec<T> {
    let waiting = Mutex::new(tasks.into_iter().enumerate());
    let next = || waiting.lock().expect("taking the next one cannot panic").next();
    let work = || {
        let mut done = Vec::new();
        while let Some((number, task)) = next() {
            done.push((number, task()));
        }
        done
    };
    let mut done: Vec<(usize, T)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..most.max(1)).map(|_| scope.spawn(work)).collect();
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
}
