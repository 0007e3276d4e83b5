//! The order in which jobs take turns.

use super::*;

/// What was done, one letter for each page.
type Log = String;

/// A loop over this log with jobs, which does what the owner's loop does.
struct World {
    log: Arc<Mutex<Log>>,
    jobs: Jobs<Log>,
}

impl World {
    fn new() -> Self {
        let log = Arc::new(Mutex::new(Log::new()));
        Self { jobs: Jobs::of(log.clone()), log }
    }

    /// Begins a job that does this many pages.
    async fn begin_pages(&mut self, name: char, pages: usize) {
        self.jobs
            .begin_one(async move |turn: Turn<Log>| {
                for _ in 0..pages {
                    turn.next().await;
                    turn.now(|log| log.push(name));
                }
            })
            .await;
    }

    /// Begins a job that does its page once the log contains `until`, and logs each attempt before.
    async fn begin_waiting(&mut self, name: char, until: char) {
        self.jobs
            .begin_one(async move |turn: Turn<Log>| {
                let attempt = |log: &mut Log| {
                    let is_time = log.contains(until);
                    log.push(if is_time { name.to_ascii_uppercase() } else { name });
                    is_time.then_some(())
                };
                turn.until_some(attempt).await;
            })
            .await;
    }

    /// Gives turns as long as any job is due. Returns what was done since the beginning.
    async fn turns(&mut self) -> Log {
        while self.jobs.outlook().are_due {
            self.jobs.turn().await;
        }
        self.log.lock().await.clone()
    }
}

#[tokio::test]
async fn first_page_is_done_at_once_and_then_jobs_alternate() {
    let mut world = World::new();
    world.begin_pages('a', 4).await;
    world.begin_pages('b', 2).await;
    world.begin_pages('c', 1).await;
    assert_eq!(*world.log.lock().await, "abc");
    assert_eq!(world.jobs.len(), 2, "the third has ended");
    assert_eq!(world.turns().await, "abcabaa");
    assert!(world.jobs.is_empty());
}

#[tokio::test]
async fn one_turn_does_one_page() {
    let mut world = World::new();
    world.begin_pages('a', 3).await;
    for done in ["aa", "aaa"] {
        world.jobs.turn().await;
        assert_eq!(*world.log.lock().await, done);
    }
}

/// Waiting jobs cost nothing until an event, and do not keep others from their turns.
#[tokio::test]
async fn waiting_jobs_try_again_after_each_event() {
    let mut world = World::new();
    world.begin_waiting('x', '!').await;
    world.begin_pages('a', 3).await;
    world.begin_waiting('y', '!').await;
    // While another job has pages, waiting ones may try as often as it does.
    let tried = world.turns().await;
    assert_eq!(tried.matches('a').count(), 3, "{tried}");
    assert_eq!(world.jobs.outlook().poll, Some(POLL));
    for (event, tried) in [('.', "xy."), ('!', "XY!")] {
        *world.log.lock().await = event.to_string();
        world.jobs.wake();
        let done = world.turns().await;
        assert!(tried.chars().all(|one| done.matches(one).count() == 1) && done.len() == 3, "{done}");
    }
    assert_eq!((world.jobs.is_empty(), world.jobs.outlook().poll), (true, None));
}

/// A job may await what another thread does. The loop is told when that has happened.
#[tokio::test]
async fn job_that_awaits_something_is_woken() {
    let mut world = World::new();
    let (sender, receiver) = tokio::sync::oneshot::channel();
    world
        .jobs
        .begin_one(async move |turn: Turn<Log>| {
            let name = receiver.await.unwrap();
            turn.next().await;
            turn.now(|log| log.push(name));
        })
        .await;
    let outlook = world.jobs.outlook();
    assert!(!outlook.are_due, "there is nothing to do");
    sender.send('r').unwrap();
    outlook.woken().await;
    world.jobs.wake();
    assert_eq!(world.turns().await, "r");
}

/// While a job holds the state, not even the loop runs. Others that were woken meanwhile are not forgotten.
#[tokio::test]
async fn job_that_holds_the_state_goes_on_first() {
    let mut world = World::new();
    let (sender, receiver) = tokio::sync::oneshot::channel();
    world
        .jobs
        .begin_one(async move |turn: Turn<Log>| {
            receiver.await.unwrap();
            turn.next().await;
            turn.now(|log| log.push('r'));
        })
        .await;
    world
        .jobs
        .begin_one(async move |turn: Turn<Log>| {
            turn.next().await;
            let mut log = turn.hold();
            log.push('h');
            sender.send(()).unwrap();
            tokio::task::yield_now().await;
            log.push('H');
        })
        .await;
    assert_eq!(*world.log.lock().await, "hH", "its turn has ended with the page");
    assert_eq!(world.turns().await, "hHr");
}
