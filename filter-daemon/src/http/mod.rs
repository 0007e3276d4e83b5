//! Where a browser looks at filterd, over HTTP: nowhere unless `metrics.listen` says so, and nothing is changed here.
//!
//! `listener` lets callers in and keeps them within limits of time, `callers` within limits of number, `routes` has what there is for whom, `page` is the page at `/`,
//! `live` the stream that it draws itself from, `scrape` what Prometheus reads, and `health` two words for supervisors. All of
//! them ask `owner`; who looks at everything does so together with others (`shared`).

mod answer;
mod callers;
mod health;
mod listener;
mod live;
mod owner;
mod page;
mod routes;
mod scrape;
mod shared;

use std::future::ready;
use std::io;
use std::pin::pin;
use std::thread;

use tokio::runtime::Builder;
use tokio::sync::{mpsc, oneshot, watch};
use tracing::error;

use crate::config::Metrics;
use crate::control::Call;
use crate::control::wire::Fault;
use listener::Faults;

/// The owner's end: what is wanted, and why that is not so.
pub struct Http {
    wanted: watch::Sender<Metrics>,
    faults: watch::Sender<Faults>,
}

impl Default for Http {
    fn default() -> Self {
        Self { wanted: watch::Sender::new(Metrics::default()), faults: watch::Sender::default() }
    }
}

impl Http {
    /// Listens where it says, from now on. Where nothing of that has changed, nobody notices.
    pub fn follow(&self, metrics: &Metrics) {
        self.wanted.send_if_modified(|wanted| {
            let is_other = (&wanted.listen, &wanted.hosts) != (&metrics.listen, &metrics.hosts);
            wanted.clone_from(metrics);
            is_other
        });
    }

    /// Why nobody listens where somebody should.
    pub fn faults(&self) -> Vec<Fault> {
        self.faults.borrow().values().cloned().collect()
    }

    /// Answers whoever calls, until what is returned is dropped; where it can listen it does so when this returns. What callers
    /// want to know the owner is asked by `calls`; on a thread of its own, so that an owner who waits for a kernel that does not
    /// answer is told of rather than waited for.
    pub async fn serve(&self, calls: mpsc::Sender<Call>) -> io::Result<Serving> {
        let serve = listener::serve(self.wanted.subscribe(), self.faults.clone(), calls);
        let (serving, dropped) = oneshot::channel();
        let (begun, listens) = oneshot::channel::<()>();
        let ended = async move {
            let mut serve = pin!(serve);
            // It listens before it waits for anything.
            tokio::select! {
                biased;
                () = &mut serve => return,
                () = ready(()) => drop(begun),
            }
            tokio::select! {
                () = serve => {}
                _ = dropped => {}
            }
        };
        let serve = move || match Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime.block_on(ended),
            Err(error) => error!("the status page is not available: {error}"),
        };
        thread::Builder::new().name("http".to_owned()).spawn(serve)?;
        _ = listens.await;
        Ok(Serving(serving))
    }
}

/// As long as somebody has this, callers are answered.
#[must_use = "callers are hung up on when it is dropped"]
pub struct Serving(#[expect(dead_code, reason = "dropping it is all that is done")] oneshot::Sender<()>);
