//! Reads interfaces and loaded programs for the broker, independently of the daemon.

use std::collections::HashMap;
use std::thread;

use aya::programs::{loaded_links, loaded_programs};

use super::super::KernelError;
use super::super::error::UNNAMED;
use super::super::interface::{self, KernelInterface};

/// More programs than a machine has.
const MOST: usize = 4096;

/// The interface of this name, if it still has this index.
pub fn interface(name: &str, index: u32) -> Result<KernelInterface, KernelError> {
    must_agree(look_up(name)?, name, index)
}

/// The name of the interface with this index.
pub fn name_of(index: u32) -> Result<Option<String>, KernelError> {
    let all = asked(interface::all())?;
    Ok(all.into_iter().find(|interface| interface.index == index).map(|interface| interface.name))
}

fn must_agree(
    found: Option<KernelInterface>,
    name: &str,
    index: u32,
) -> Result<KernelInterface, KernelError> {
    let why = match found {
        Some(found) if found.name == name && found.index == index => return Ok(found),
        Some(found) => format!("it is number {} now, and number {index} was meant", found.index),
        None => "it is gone".to_owned(),
    };
    Err(KernelError::refused(&format!("attach to {name}"), &why))
}

fn look_up(name: &str) -> Result<Option<KernelInterface>, KernelError> {
    asked(interface::named(name))
}

/// Waits for an answer about interfaces.
fn asked<T: Send>(question: impl Future<Output = Result<T, KernelError>> + Send) -> Result<T, KernelError> {
    let failed = |reason: String| KernelError::Netlink { reason };
    let ask = || -> Result<T, KernelError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
        runtime.map_err(|error| failed(error.to_string()))?.block_on(question)
    };
    // On a thread of its own, because a caller that runs the broker in its process may have a runtime
    // already.
    thread::scope(|threads| {
        let asked = thread::Builder::new().name("look-up".to_owned()).spawn_scoped(threads, ask);
        let asked = asked.map_err(|error| failed(error.to_string()))?;
        asked.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// The programs and links that existed when the broker began. Later it lacks the capability to ask.
#[derive(Debug, Default)]
pub struct LoadedPrograms {
    names: HashMap<u32, String>,
    /// Pairs of a link and the program that it attaches.
    links: Vec<(u32, u32)>,
}

impl LoadedPrograms {
    /// Reads them. Without the capability the programs have no names.
    pub fn look() -> Self {
        let programs = loaded_programs().flatten().take(MOST);
        let named = programs.filter_map(|program| Some((program.id(), program.name_as_str()?.to_owned())));
        let links = loaded_links().flatten().take(MOST).map(|link| (link.id(), link.program_id()));
        Self { names: named.filter(|(_, name)| !name.is_empty()).collect(), links: links.collect() }
    }

    /// The program's name, or a question mark if it is not known.
    pub fn name_of(&self, program: u32) -> String {
        self.names.get(&program).cloned().unwrap_or_else(|| UNNAMED.to_owned())
    }

    /// The link of a program, if exactly one link attaches it. `ip link` cannot detach a program that a link
    /// attaches.
    pub fn link_of(&self, program: u32) -> Option<u32> {
        let mut links = self.links.iter().filter(|(_, held)| *held == program);
        links.next().filter(|_| links.next().is_none()).map(|(link, _)| *link)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::interface::Framing;

    #[test]
    fn attach_requires_matching_name_and_index() {
        let there = |name: &str, index| KernelInterface {
            name: name.into(),
            index,
            mtu: 1500,
            framing: Framing::Ethernet,
            is_veth: false,
            occupant: None,
        };
        must_agree(Some(there("eth0", 2)), "eth0", 2).unwrap();
        let why = |found, name, index| must_agree(found, name, index).unwrap_err().to_string();
        assert!(
            why(Some(there("eth0", 3)), "eth0", 2).ends_with("it is number 3 now, and number 2 was meant")
        );
        assert!(
            why(Some(there("eth1", 2)), "eth0", 2).starts_with("the broker process did not attach to eth0: ")
        );
        assert!(why(None, "eth0", 2).ends_with("it is gone"));
    }
}
