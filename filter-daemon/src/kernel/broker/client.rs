//! How the broker is asked: in this process, in one of its own, which alone keeps its capabilities while the one that reads
//! lists and talks to clients has none, or in memory, where there is no kernel behind it at all.

use std::os::fd::OwnedFd;
use std::path::Path;

use super::super::KernelError;
use super::super::window::Window;
use super::process::Process;
use super::request::{Answer, Blueprint, Earlier, MapName, Request};
use super::server::Server;

/// What comes back: an answer, and a descriptor with it where something was made.
pub type Answered = Result<(Answer, Option<OwnedFd>), KernelError>;

/// Words of a map that the kernel clears in less than a millisecond: 2 MiB.
pub const QUICK: u32 = 1 << 18;

/// Where the broker is.
pub trait Place: Send {
    /// Does what is asked.
    fn serve(&mut self, request: Request) -> Answered;

    /// Is a map of so many words made in no time? Who wants a larger one does other things meanwhile.
    fn is_quick(&self, words: u32) -> bool {
        words <= QUICK
    }

    /// How it has ended, in the system's words; nothing while it lives.
    fn fate(&mut self) -> Option<String> {
        None
    }

    /// There is nothing more to ask; waits until it has left.
    fn end(&mut self);
}

/// Whoever holds the kernel for us.
pub struct Broker {
    place: Box<dyn Place>,
    earlier: Earlier,
}

impl Broker {
    /// Holds the kernel in this process, which must have the capabilities.
    pub fn here(directory: &Path) -> Result<Self, KernelError> {
        let server = Server::open(directory)?;
        Ok(Self::at(server.earlier(), server))
    }

    /// Starts a process that holds the kernel, and logs as these words tell it.
    pub fn apart(directory: &Path, log: &[&str]) -> Result<Self, KernelError> {
        let (earlier, process) = Process::start(directory, log, false)?;
        Ok(Self::at(earlier, process))
    }

    /// The same beside another filterd, whose place is to be taken.
    pub fn beside(directory: &Path, log: &[&str]) -> Result<Self, KernelError> {
        let (earlier, process) = Process::start(directory, log, true)?;
        Ok(Self::at(earlier, process))
    }

    /// Is held there, where this was pinned.
    pub fn at(earlier: Earlier, place: impl Place + 'static) -> Self {
        Self { place: Box::new(place), earlier }
    }

    /// The highest number that a map was pinned under when the broker began.
    pub fn latest_generation(&self) -> u64 {
        self.earlier.latest_generation
    }

    /// Was there a table of what an earlier filterd blocked?
    pub fn found_blocked(&self) -> bool {
        self.earlier.blocked
    }

    /// Was an earlier filterd's filter attached anywhere?
    pub fn found_attached(&self) -> bool {
        self.earlier.attached
    }

    /// Is it still at work on an interface, in whatever network namespace that is?
    pub fn found_at_work(&self) -> bool {
        self.earlier.filters
    }

    /// If it is gone, the error that says how it ended.
    pub fn obituary(&mut self) -> Option<KernelError> {
        let fate = self.place.fate()?;
        Some(KernelError::broker_gone(format!("it has ended ({fate})")))
    }

    /// Is a map of so many words made in no time?
    pub fn is_quick(&self, words: u32) -> bool {
        self.place.is_quick(words)
    }

    /// Asks, and waits for the answer.
    pub fn ask(&mut self, request: Request) -> Answered {
        self.place.serve(request)
    }

    /// Has a map of zeroed words made, and opens a window to it.
    pub fn make(&mut self, map: MapName, generation: u64, words: u32) -> Result<Window, KernelError> {
        let (_, made) = self.ask(Request::Make { map, generation, words })?;
        self.open(map, generation, words, made)
    }

    /// Opens a window to a map whose making was begun; none if it is not made yet, and is not to be waited for.
    pub fn collect(
        &mut self,
        map: MapName,
        generation: u64,
        words: u32,
        waits: bool,
    ) -> Result<Option<Window>, KernelError> {
        match self.ask(Request::Collect { map, generation, waits })? {
            (Answer::NotYet, _) => Ok(None),
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
            // Should that fail, too, the pin stays until filterd ends.
            _ = self.order(Request::Discard { map, generation });
        }
        opened
    }

    /// Asks for something that is answered with no more than that it is done.
    pub fn order(&mut self, request: Request) -> Result<(), KernelError> {
        self.ask(request).map(drop)
    }

    /// Has a judge loaded that will be wanted. True if it is not there yet: to be asked again until then.
    pub fn foresee(&mut self, judge: Blueprint) -> Result<bool, KernelError> {
        let (answer, _) = self.ask(Request::Foresee(judge))?;
        Ok(matches!(answer, Answer::NotYet))
    }

    /// Ends it, and waits until it is gone.
    pub fn end(mut self) {
        self.place.end();
    }
}

impl Place for Server {
    fn serve(&mut self, request: Request) -> Answered {
        self.serve(request)
    }

    /// It ends with this process, and whoever has it here looks after the pins itself.
    fn end(&mut self) {}
}
