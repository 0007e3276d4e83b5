//! What the broker sees for itself of what is around the filter: interfaces, and whose programs there are.

use std::collections::HashMap;
use std::thread;

use aya::programs::loaded_programs;

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

/// The names of the programs that there were when the broker began: later it may not ask any more.
#[derive(Debug, Default)]
pub struct Neighbours(HashMap<u32, String>);

impl Neighbours {
    /// Looks at them; where that is not allowed, they have no names.
    pub fn look() -> Self {
        let programs = loaded_programs().flatten().take(MOST);
        let named = programs.filter_map(|program| Some((program.id(), program.name_as_str()?.to_owned())));
        Self(named.filter(|(_, name)| !name.is_empty()).collect())
    }

    /// A question mark if it has no name that we know.
    pub fn name_of(&self, program: u32) -> String {
        self.0.get(&program).cloned().unwrap_or_else(|| UNNAMED.to_owned())
    }
}
