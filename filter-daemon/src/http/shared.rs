//! One answer for all concurrent requests. At most one request asks the daemon at a time, with rests
//! between, so that changes are served meanwhile. An answer is never older than its request, or than the
//! moment that the request names.

use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until};

/// The length of a rest, as a multiple of the time for the last answer. Answers so take a fifth of the time
/// at most.
const REST: u32 = 4;

/// The longest rest between two answers.
const LONGEST_REST: Duration = Duration::from_secs(1);

/// The last answer, for requests from before it was started.
pub struct SharedAnswer<T>(Mutex<Option<MadeAnswer<T>>>);

struct MadeAnswer<T> {
    begun: Instant,
    /// When the next answer may be started.
    rested: Instant,
    what: T,
}

impl<T> Default for SharedAnswer<T> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<T: Clone> SharedAnswer<T> {
    /// An answer that was started after this call, by this or another request.
    pub async fn get<F: Future<Output = Option<T>>>(&self, make: impl FnOnce() -> F) -> Option<T> {
        self.get_since(Instant::now(), make).await
    }

    /// An answer that was started after `since`. Requests for one moment all get the same answer.
    pub async fn get_since<F: Future<Output = Option<T>>>(
        &self,
        since: Instant,
        make: impl FnOnce() -> F,
    ) -> Option<T> {
        let mut last = self.0.lock().await;
        if let Some(made) = &*last {
            if made.begun > since {
                return Some(made.what.clone());
            }
            sleep_until(made.rested).await;
        }
        let begun = Instant::now();
        let what = make().await?;
        let took = begun.elapsed();
        let rested = begun + took + (took * REST).min(LONGEST_REST);
        *last = Some(MadeAnswer { begun, rested, what: what.clone() });
        Some(what)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use futures_util::future::join_all;
    use tokio::task::yield_now;

    use super::*;

    async fn get(shared: &SharedAnswer<u32>, made: &AtomicU32) -> Option<u32> {
        let make = || async {
            yield_now().await;
            Some(made.fetch_add(1, Ordering::Relaxed) + 1)
        };
        shared.get(make).await
    }

    #[tokio::test]
    async fn concurrent_requests_share_the_next_answer() {
        let (shared, made) = (SharedAnswer::default(), AtomicU32::new(0));
        let got = join_all((0..40).map(|_| get(&shared, &made))).await;
        assert_eq!(got[0], Some(1));
        assert!(got[1..].iter().all(|got| *got == Some(2)), "{got:?}");
    }

    #[tokio::test]
    async fn answers_are_never_older_than_requests() {
        let (shared, made) = (SharedAnswer::default(), AtomicU32::new(0));
        for turn in 1..4 {
            assert_eq!(get(&shared, &made).await, Some(turn));
        }
    }

    #[tokio::test]
    async fn requests_for_one_moment_share_an_answer() {
        let (shared, made, moment) = (SharedAnswer::default(), AtomicU32::new(0), Instant::now());
        let about =
            |moment| shared.get_since(moment, || async { Some(made.fetch_add(1, Ordering::Relaxed) + 1) });
        for _ in 0..3 {
            assert_eq!(about(moment).await, Some(1));
        }
        assert_eq!(about(Instant::now()).await, Some(2), "and what is asked about later is made anew");
    }
}
