//! The egress program. It is loaded once with its maps, and attached wherever the filter is (`sent`). The maps
//! are pinned, so that own flows outlive the daemon.

use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};

use aya::Ebpf;
use aya::maps::{HashMap as BpfHashMap, Map, MapData};
use aya::programs::SchedClassifier;
use filter_common::flow::{KEY_WORDS, Key};

use super::super::interface::Framing;
use super::super::{KernelError, Link};
use super::loaders;
use super::mending::TamperingLog;
use super::object;
use super::pins::Pins;
use super::sent::SentPrograms;
use super::sent_work::{EGRESS, EGRESS_BARE, SentWork};
use super::storage;

/// The program, if it was ever needed, and the interfaces where it is attached.
pub struct Egress {
    made: Option<EgressProgram>,
    programs: SentPrograms,
}

impl Default for Egress {
    fn default() -> Self {
        Self { made: None, programs: SentPrograms::new(SentWork::RecordFlows) }
    }
}

struct EgressProgram {
    object: Ebpf,
    /// The numbers of the programs that are loaded, by name.
    ids: HashMap<&'static str, u32>,
    flows: BpfHashMap<MapData, [u64; KEY_WORDS], u64>,
    /// The same maps, for pinning them again.
    pinned: MapData,
    ports: MapData,
}

impl Egress {
    /// Loads the program, if it is not loaded, with the pinned maps or new ones.
    pub fn make(&mut self, pins: &Pins) -> Result<(), KernelError> {
        if self.made.is_none() {
            self.made = Some(EgressProgram::load(pins)?);
        }
        Ok(())
    }

    /// Attaches the program to an interface, replacing our earlier attachment. An error is kept for reports.
    pub fn attach(&mut self, name: &str, index: u32, framing: Framing, pins: &Pins) {
        let Some(made) = &mut self.made else { return };
        let its = program_for(framing);
        self.programs.attach((name, index), its, made.program(its), pins);
    }

    /// Detaches the program everywhere, and deletes all flows.
    pub fn end(&mut self, pins: &Pins) -> Result<(), KernelError> {
        self.made = None;
        self.programs.end(pins)?;
        pins.forget_flows().map_err(|error| KernelError::load("remove the pins of own flows", error))
    }

    /// The attachments of the program.
    pub fn programs(&mut self) -> &mut SentPrograms {
        &mut self.programs
    }

    /// Attaches the program again wherever it is missing.
    pub fn mend(&mut self, links: &[Link], pins: &Pins) {
        let Some(made) = &self.made else { return };
        let id = |framing| made.ids.get(program_for(framing)).copied().unwrap_or_default();
        for link in self.programs.missing(links, id) {
            self.attach(&link.name, link.index, link.framing, pins);
        }
    }

    /// Pins objects again whose pins someone removed or replaced.
    pub fn mend_pins(&mut self, pins: &Pins, mending: &mut TamperingLog) -> Result<(), KernelError> {
        let Some(EgressProgram { pinned, ports, .. }) = &self.made else { return Ok(()) };
        storage::pin_again(pinned, &pins.flows(), mending)?;
        storage::pin_again(ports, &pins.ports(), mending)?;
        self.programs.mend_pins(pins, mending)
    }

    /// The map of UDP ports, for the caller that fills it.
    pub fn ports(&self) -> Result<OwnedFd, KernelError> {
        let failed = |why: &str| KernelError::refused("open the map of ports", why);
        let made = self.made.as_ref().ok_or_else(|| failed("there is none"))?;
        made.ports.fd().as_fd().try_clone_to_owned().map_err(|error| failed(&error.to_string()))
    }

    /// Records open flows as if this host had sent something in each of them at `now`, which is
    /// [`clock::at_last_tick`](crate::clock::at_last_tick).
    pub fn seed(&mut self, keys: &[[u64; KEY_WORDS]], now: u64) -> Result<(), KernelError> {
        let Some(EgressProgram { flows, .. }) = &mut self.made else { return Ok(()) };
        let failed = |error| KernelError::load("remember a flow that is open", error);
        for key in keys {
            let key = Key(*key);
            flows.insert(key.0, now, 0).map_err(failed)?;
            flows.insert(key.its_fragments().0, now, 0).map_err(failed)?;
        }
        Ok(())
    }
}

impl EgressProgram {
    fn load(pins: &Pins) -> Result<Self, KernelError> {
        let failed = |error: &(dyn std::error::Error + 'static)| {
            KernelError::load_of("load the egress program", error)
        };
        for pin in [pins.flows(), pins.ports()].iter().filter(|pin| pin.exists()) {
            pins.must_be_ours(pin)?;
        }
        let loaded = loaders::with(|loader| {
            loader
                .map_pin_path("FLOWS", pins.flows())
                .map_pin_path("PORTS", pins.ports())
                .load(&object::EGRESS)
        });
        let object: Ebpf = loaded.map_err(|error| failed(&error))?;
        let open = |pin| MapData::from_pin(pin).map_err(|error| failed(&error));
        let flows = Map::LruHashMap(open(pins.flows())?);
        let flows = BpfHashMap::try_from(flows).map_err(|error| failed(&error))?;
        Ok(Self {
            object,
            ids: HashMap::new(),
            flows,
            pinned: open(pins.flows())?,
            ports: open(pins.ports())?,
        })
    }

    /// The program of this name, which is loaded when it is first needed.
    fn program(&mut self, its: &'static str) -> Result<&mut SchedClassifier, KernelError> {
        let program = self.object.program_mut(its).and_then(|program| program.try_into().ok());
        let program: &mut SchedClassifier = program.expect("the embedded object has this classifier");
        if !self.ids.contains_key(its) {
            let failed = |error| KernelError::load_of("load the egress program", &error);
            program.load().map_err(failed)?;
            self.ids.insert(its, program.info().map_err(failed)?.id());
        }
        Ok(program)
    }
}

fn program_for(framing: Framing) -> &'static str {
    if framing == Framing::Bare { EGRESS_BARE } else { EGRESS }
}
