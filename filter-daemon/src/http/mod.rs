//! Serves the status page, metrics and health checks over HTTP. It listens only where `metrics.listen`
//! says, and changes nothing.
//!
//! `listener` accepts connections within limits of time, and `callers` within limits of number. `routes`
//! dispatches requests: `page` is the page at `/`, `live` its event stream, `scrape` the metrics for
//! Prometheus, and `health` the checks for supervisors. All of them ask the daemon through `owner`, and
//! concurrent requests share one answer (`shared`).

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

/// The daemon's end: the wanted addresses, and the faults.
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
    /// Listens at the addresses in `metrics` from now on. Without a change, connections stay open.
    pub fn follow(&self, metrics: &Metrics) {
        self.wanted.send_if_modified(|wanted| {
            let is_other = (&wanted.listen, &wanted.hosts) != (&metrics.listen, &metrics.hosts);
            wanted.clone_from(metrics);
            is_other
        });
    }

    /// Why filterd does not listen at wanted addresses.
    pub fn faults(&self) -> Vec<Fault> {
        self.faults.borrow().values().cloned().collect()
    }

    /// Serves callers until the returned value is dropped. When it returns, it listens wherever it can. It
    /// asks the daemon through `calls`, and runs on a thread of its own. A daemon that waits for an
    /// unresponsive kernel is therefore reported, rather than waited for.
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

/// Callers are served as long as this exists.
#[must_use = "callers are hung up on when it is dropped"]
pub struct Serving(#[expect(dead_code, reason = "dropping it is all that is done")] oneshot::Sender<()>);
