//! How the holder of the kernel is asked: in this process, or in one of its own, which alone keeps its capabilities while
//! the one that reads lists and talks to clients has none.

use std::os::fd::OwnedFd;
use std::path::Path;

use super::super::KernelError;
use super::super::window::Window;
use super::line::Line;
use super::process;
use super::request::{Answer, MapName, Request};
use super::server::Server;

/// Whoever holds the kernel for us.
pub struct Broker {
    place: Place,
    latest_generation: u64,
}

enum Place {
    Here(Box<Server>),
    Apart(Line),
}

impl Broker {
    /// Holds the kernel in this process, which must have the capabilities.
    pub fn here(directory: &Path) -> Result<Self, KernelError> {
        let server = Server::open(directory)?;
        Ok(Self { latest_generation: server.latest_generation(), place: Place::Here(Box::new(server)) })
    }

    /// Starts a process that holds the kernel.
    pub fn apart(directory: &Path) -> Result<Self, KernelError> {
        let mut line = process::start(directory)?;
        match line.answer()? {
            (Answer::Ready(latest_generation), _) => {
                Ok(Self { latest_generation, place: Place::Apart(line) })
            }
            (Answer::Failed(error), _) => Err(error),
            (_, _) => Err(KernelError::broker_gone("it begins with an answer")),
        }
    }

    /// The highest number that a map was pinned under when the keeper began.
    pub fn latest_generation(&self) -> u64 {
        self.latest_generation
    }

    /// Asks, and waits for the answer.
    pub fn ask(&mut self, request: Request) -> Result<(Answer, Option<OwnedFd>), KernelError> {
        match &mut self.place {
            Place::Here(server) => server.serve(request),
            Place::Apart(line) => {
                line.send(&request, None)?;
                match line.answer()? {
                    (Answer::Failed(error), _) => Err(error),
                    answer => Ok(answer),
                }
            }
        }
    }

    /// Has a map of zeroed words made, and opens a window to it.
    pub fn make(&mut self, map: MapName, generation: u64, words: u32) -> Result<Window, KernelError> {
        let (_, made) = self.ask(Request::Make { map, generation, words })?;
        let made = made.ok_or_else(|| KernelError::broker_gone("it made a map and kept it"))?;
        Window::open(made, words)
            .map_err(|reason| KernelError::Window { what: map.name().to_owned(), reason: reason.to_string() })
    }

    /// Asks for something that is answered with no more than that it is done.
    pub fn order(&mut self, request: Request) -> Result<(), KernelError> {
        self.ask(request).map(drop)
    }
}
