//! Groups of the owner's parts. Each says when one of its parts needs attention.

use std::time::{Duration, Instant};

use crate::blocklist::Timestamp;
use crate::control::ReplyTo;
use crate::control::wire::hand_over;
use crate::daemon::core::Core;
use crate::daemon::counting::Counting;
use crate::daemon::databases::Databases;
use crate::daemon::expiry::Expiry;
use crate::daemon::feeds::Feeds;
use crate::daemon::flows::OwnFlows;
use crate::daemon::interfaces::Interfaces;
use crate::daemon::pinned::Pinned;
use crate::daemon::privilege::Privileges;
use crate::daemon::reading::Readings;
use crate::daemon::refresh::Refreshing;
use crate::daemon::sampling::Sampling;
use crate::daemon::sleep::Sleep;
use crate::daemon::tampered::Tampered;
use crate::daemon::time::Time;
use crate::daemon::traffic::Traffic;
use crate::daemon::turns::LastCheck;
use crate::http::Http;
use crate::notify::Notify;

/// Where the filter is attached, and what others have changed there.
pub struct AttachmentState {
    pub interfaces: Interfaces,
    pub flows: OwnFlows,
    pub pinned: Pinned,
    pub tampered: Tampered,
}

/// What packets are counted and sampled.
pub struct Counters {
    pub counting: Counting,
    pub traffic: Traffic,
    pub sampling: Sampling,
}

/// What happens because time passes.
pub struct Clocks {
    pub time: Time,
    pub sleep: Sleep,
    pub expiry: Expiry,
    /// When the regular work was done last.
    pub minded: LastCheck,
}

/// Where lists come from, and what is to be read.
pub struct Sources {
    pub readings: Readings,
    pub feeds: Feeds,
    /// When to refresh lists that are chosen from databases.
    pub databases: Databases,
    /// Clients that wait for fetches.
    pub refreshing: Refreshing,
}

/// This process, and how it is seen from outside.
pub struct Process {
    pub started: Timestamp,
    pub privileges: Privileges,
    pub notify: Notify,
    pub http: Http,
    /// Another filterd, for which this one ends as soon as no work is under way.
    pub successor: Option<ReplyTo<hand_over::Reply>>,
}

impl Counters {
    /// The time until counters must be read.
    pub fn until_due(&self) -> Option<Duration> {
        let Self { counting, traffic, sampling } = self;
        [counting.until_due(), Some(traffic.until_due()), sampling.until_due()].into_iter().flatten().min()
    }
}

impl Clocks {
    /// The time until an entry expires, or until the regular work is due, which is done at this interval.
    pub fn until_due(&self, core: &Core, interval: Duration, now: Instant) -> Duration {
        let expiry = self.expiry.until_due(&core.protection, &core.capacity);
        expiry.into_iter().fold(self.minded.until(interval, now), Duration::min)
    }
}

impl Sources {
    /// The time until a source is to be fetched or read.
    pub fn until_due(&self) -> Option<Duration> {
        self.feeds.until_due().into_iter().chain(self.databases.until_due()).min()
    }
}
