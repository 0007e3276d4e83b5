//! The daemon's side of the broker. The broker can run in a process of its own, in this process, or in memory
//! for tests. The daemon reads lists and talks to clients, so it has no capabilities. Only the broker's
//! process keeps them.

use std::os::fd::OwnedFd;
use std::path::Path;

use super::super::KernelError;
use super::super::window::Window;
use super::process::BrokerProcess;
use super::request::{Blueprint, EarlierPins, MapName, Reply, Request};
use super::server::BrokerServer;

/// An answer, with a descriptor if a map or ring was made.
pub type BrokerAnswer = Result<(Reply, Option<OwnedFd>), KernelError>;

/// Words of a map that the kernel clears in less than a millisecond: 2 MiB.
pub const QUICK: u32 = 1 << 18;

/// The place where the broker runs.
pub trait BrokerHost: Send {
    /// Carries out a request and returns its answer.
    fn serve(&mut self, request: Request) -> BrokerAnswer;

    /// True if a map of this many words is made without a noticeable wait. Callers do other work while larger
    /// ones are made.
    fn is_quick(&self, words: u32) -> bool {
        words <= QUICK
    }

    /// How the broker has ended, in the system's words; none while it runs.
    fn fate(&mut self) -> Option<String> {
        None
    }

    /// Ends the broker and waits until it has ended.
    fn end(&mut self);
}

/// The broker, as the daemon sees it.
pub struct Broker {
    place: Box<dyn BrokerHost>,
    earlier: EarlierPins,
}

impl Broker {
    /// Runs the broker in this process, which must have the capabilities.
    pub fn here(directory: &Path) -> Result<Self, KernelError> {
        let server = BrokerServer::open(directory)?;
        Ok(Self::at(server.earlier(), server))
    }

    /// Starts a broker process. `log` are its command-line options for logging.
    pub fn apart(directory: &Path, log: &[&str]) -> Result<Self, KernelError> {
        let (earlier, process) = BrokerProcess::start(directory, log)?;
        Ok(Self::at(earlier, process))
    }

    /// A broker at this place, which found `earlier` pinned when it began.
    pub fn at(earlier: EarlierPins, place: impl BrokerHost + 'static) -> Self {
        Self { place: Box::new(place), earlier }
    }

    /// The highest number of a pinned map when the broker began.
    pub fn latest_generation(&self) -> u64 {
        self.earlier.latest_generation
    }

    /// True if a table of targets blocked by an earlier filterd was pinned.
    pub fn found_blocked(&self) -> bool {
        self.earlier.blocked
    }

    /// True if an earlier filterd's filter was attached anywhere.
    pub fn found_attached(&self) -> bool {
        self.earlier.attached
    }

    /// True if an earlier filterd's filter is on an interface, in any network namespace.
    pub fn found_at_work(&self) -> bool {
        self.earlier.filters
    }

    /// The error that says how the broker ended, if it has ended.
    pub fn obituary(&mut self) -> Option<KernelError> {
        let fate = self.place.fate()?;
        Some(KernelError::broker_gone(format!("it has ended ({fate})")))
    }

    /// True if a map of this many words is made without a noticeable wait.
    pub fn is_quick(&self, words: u32) -> bool {
        self.place.is_quick(words)
    }

    /// Sends a request and waits for the answer.
    pub fn ask(&mut self, request: Request) -> BrokerAnswer {
        self.place.serve(request)
    }

    /// Makes a map of zeroed words, and opens a window to it.
    pub fn make(&mut self, map: MapName, generation: u64, words: u32) -> Result<Window, KernelError> {
        let (_, made) = self.ask(Request::Make { map, generation, words })?;
        self.open(map, generation, words, made)
    }

    /// Opens a window to a map that was begun. None if it is not made yet and `waits` is false.
    pub fn collect(
        &mut self,
        map: MapName,
        generation: u64,
        words: u32,
        waits: bool,
    ) -> Result<Option<Window>, KernelError> {
        match self.ask(Request::Collect { map, generation, waits })? {
            (Reply::NotYet, _) => Ok(None),
            (_, made) => self.open(map, generation, words, made).map(Some),
        }
    }

    fn open(
        &mut self,
        map: MapName,
        generation: u64,
        words: u32,
        made: Option<OwnedFd>,
    ) -> Result<Window, KernelError> {
        let failed = |reason: nix::Error| KernelError::Window {
            what: map.name().to_owned(),
            reason: reason.to_string(),
        };
        let opened = made
            .ok_or_else(|| KernelError::broker_gone("it made a map and kept it"))
            .and_then(|made| Window::open(made, words).map_err(failed));
        if opened.is_err() {
            // If that fails as well, the pin stays until filterd ends.
            _ = self.order(Request::Discard { map, generation });
        }
        opened
    }

    /// Sends a request whose answer is only that it was done.
    pub fn order(&mut self, request: Request) -> Result<(), KernelError> {
        self.ask(request).map(drop)
    }

    /// Loads a judge in the background. True if it is not loaded yet; call this again until it is.
    pub fn foresee(&mut self, judge: Blueprint) -> Result<bool, KernelError> {
        let (answer, _) = self.ask(Request::Foresee(judge))?;
        Ok(matches!(answer, Reply::NotYet))
    }

    /// Ends the broker and waits until it has ended.
    pub fn end(mut self) {
        self.place.end();
    }
}

impl BrokerHost for BrokerServer {
    fn serve(&mut self, request: Request) -> BrokerAnswer {
        self.serve(request)
    }

    /// The server ends with this process, and a caller that runs it here is responsible for the pins.
    fn end(&mut self) {}
}
