//! What the broker sees for itself of what is around the filter: interfaces, and whose programs there are.

use std::collections::HashMap;
use std::thread;

use aya::programs::{loaded_links, loaded_programs};

use super::super::KernelError;
use super::super::error::UNNAMED;
use super::super::interface::{self, Interface};

/// More programs than a machine has.
const MOST: usize = 4096;

/// The interface of this name, as it is now.
pub fn interface(name: &str) -> Result<Option<Interface>, KernelError> {
    let failed = |reason: String| KernelError::Netlink { reason };
    let ask = || -> Result<Option<Interface>, KernelError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
        runtime.map_err(|error| failed(error.to_string()))?.block_on(interface::named(name))
    };
    // On a thread of its own, since whoever has the broker in his own process may have a runtime already.
    thread::scope(|threads| {
        let asked = thread::Builder::new().name("look-up".to_owned()).spawn_scoped(threads, ask);
        let asked = asked.map_err(|error| failed(error.to_string()))?;
        asked.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// The programs and links that there were when the broker began: later it may not ask any more.
#[derive(Debug, Default)]
pub struct Neighbours {
    names: HashMap<u32, String>,
    /// Which link holds which program.
    links: Vec<(u32, u32)>,
}

impl Neighbours {
    /// Looks at them; where that is not allowed, they have no names.
    pub fn look() -> Self {
        let programs = loaded_programs().flatten().take(MOST);
        let named = programs.filter_map(|program| Some((program.id(), program.name_as_str()?.to_owned())));
        let links = loaded_links().flatten().take(MOST).map(|link| (link.id(), link.program_id()));
        Self { names: named.filter(|(_, name)| !name.is_empty()).collect(), links: links.collect() }
    }

    /// A question mark if it has no name that we know.
    pub fn name_of(&self, program: u32) -> String {
        self.names.get(&program).cloned().unwrap_or_else(|| UNNAMED.to_owned())
    }

    /// The link that holds it, if it is held by just one: `ip link` does not take off what a link holds.
    pub fn link_of(&self, program: u32) -> Option<u32> {
        let mut links = self.links.iter().filter(|(_, held)| *held == program);
        links.next().filter(|_| links.next().is_none()).map(|(link, _)| *link)
    }
}
