//! Where a browser looks at filterd, over HTTP: nowhere unless `metrics.listen` says so, and nothing is changed here.
//!
//! `listener` lets callers in and keeps them within limits, `routes` has what there is for whom, `page` is the page at `/`,
//! `live` the stream that it draws itself from, `scrape` what Prometheus reads, and `health` two words for supervisors. All of
//! them ask `owner`; who looks at everything does so together with others (`shared`).

mod answer;
mod health;
mod listener;
mod live;
mod owner;
mod page;
mod routes;
mod scrape;
mod shared;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

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

    /// Answers whoever calls, until it is aborted. What they want to know the owner is asked by `calls`.
    pub fn serve(&self, calls: mpsc::Sender<Call>) -> JoinHandle<()> {
        tokio::spawn(listener::serve(self.wanted.subscribe(), self.faults.clone(), calls))
    }
}
