//! The egress program. It is loaded once with its maps, and attached wherever the filter is (`tc`). The maps
//! are pinned, so that own flows outlive the daemon. Among the pins, `egress/` has one entry for each
//! interface.

use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};

use aya::maps::{HashMap as BpfHashMap, Map, MapData};
use aya::programs::SchedClassifier;
use aya::{Ebpf, EbpfLoader};
use filter_common::flow::{KEY_WORDS, Key};
use tracing::{info, warn};

use super::super::interface::Framing;
use super::super::{AttachMode, KernelError, Link};
use super::mending::TamperingLog;
use super::object;
use super::pins::Pins;
use super::storage;
use super::tc::{self, TcAttachment, TcPlace, TcSide};
use crate::text::Explain;

/// The names of the programs in the kernel: for frames with an Ethernet header, and for those without.
const NAME: &str = "filterd_egress";
const NAME_BARE: &str = "filterd_eg_bare";

/// The program, if it was ever needed, and the interfaces where it is attached.
#[derive(Default)]
pub struct Egress {
    made: Option<EgressProgram>,
    held: HashMap<String, TcAttachment>,
    /// The errors of interfaces where it could not be attached.
    refused: HashMap<String, String>,
    /// Whether it was attached somewhere since the last report. Flows that began before are then unknown.
    is_anew: bool,
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

    /// Attaches the program to an interface, replacing our earlier attachment. An error is kept for reports,
    /// because the filter still drops blocked sources.
    pub fn attach(&mut self, name: &str, index: u32, framing: Framing, pins: &Pins) {
        let Some(made) = &mut self.made else { return };
        let attached = made.attach(name, index, program_for(framing), pins);
        match attached {
            Ok(hold) => {
                self.refused.remove(name);
                self.held.insert(name.to_owned(), hold);
                self.is_anew = true;
            }
            Err(error) => {
                let told = error.explain().to_string();
                if self.refused.get(name) != Some(&told) {
                    warn!("{told}");
                }
                self.refused.insert(name.to_owned(), told);
            }
        }
    }

    pub fn detach(&mut self, name: &str, pins: &Pins) -> Result<(), KernelError> {
        self.refused.remove(name);
        let _held = self.held.remove(name);
        forget(name, pins).map(drop)
    }

    /// Detaches the program everywhere, and deletes all flows.
    pub fn end(&mut self, pins: &Pins) -> Result<(), KernelError> {
        self.refused.clear();
        let _held = std::mem::take(&mut self.held);
        self.made = None;
        pins.egresses().iter().try_for_each(|name| forget(name, pins).map(drop))?;
        pins.forget_flows().map_err(|error| KernelError::load("remove the pins of own flows", error))
    }

    /// Renames an interface. If the other name is in use, the two exchange their names.
    pub fn rename(&mut self, from: &str, to: &str, pins: &Pins) -> Result<(), KernelError> {
        pins.rename_egress(from, to)
            .map_err(|error| KernelError::load("rename the pin of an egress link", error))?;
        let (one, other) = (self.held.remove(from), self.held.remove(to));
        self.held.extend(one.map(|hold| (to.to_owned(), hold)));
        self.held.extend(other.map(|hold| (from.to_owned(), hold)));
        Ok(())
    }

    /// The error, if the program could not be attached to this interface.
    pub fn why_not(&self, name: &str) -> Option<String> {
        self.refused.get(name).cloned()
    }

    /// Attaches the program again wherever it is missing.
    pub fn mend(&mut self, links: &[Link], pins: &Pins) {
        let Some(ids) = self.made.as_ref().map(|made| made.ids.clone()) else { return };
        for link in links {
            let (name, index) = (&link.name, link.index);
            let id = ids.get(program_for(link.framing)).copied().unwrap_or_default();
            match self.held.get_mut(name).map(|hold| hold.check(index, id)) {
                Some(true) => continue,
                Some(false) => {
                    warn!("{name}: another process detached the egress program; attaching again")
                }
                None => {}
            }
            self.held.remove(name);
            self.attach(name, index, link.framing, pins);
        }
    }

    /// Pins objects again whose pins someone removed or replaced.
    pub fn mend_pins(&mut self, pins: &Pins, mending: &mut TamperingLog) -> Result<(), KernelError> {
        let Some(EgressProgram { pinned, ports, .. }) = &self.made else { return Ok(()) };
        storage::pin_again(pinned, &pins.flows(), mending)?;
        storage::pin_again(ports, &pins.ports(), mending)?;
        pins.make_egress()?;
        self.held.iter_mut().try_for_each(|(name, hold)| hold.mend(&pins.egress(name), mending))
    }

    /// True if the program was attached anywhere since the last call.
    pub fn take_newly_attached(&mut self) -> bool {
        std::mem::take(&mut self.is_anew)
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
        let object: Ebpf = EbpfLoader::new()
            .btf(None)
            .map_pin_path("FLOWS", pins.flows())
            .map_pin_path("PORTS", pins.ports())
            .load(&object::EGRESS)
            .map_err(|error| failed(&error))?;
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

    fn attach(
        &mut self,
        name: &str,
        index: u32,
        its: &'static str,
        pins: &Pins,
    ) -> Result<TcAttachment, KernelError> {
        let pin = pins.egress(name);
        let place = TcPlace { name, index, side: TcSide::Sent, program: its, pin: &pin };
        if let Some(mut attached) = place.pinned(pins)? {
            place.return_to(&mut attached, self.program(its)?)?;
            return Ok(attached);
        }
        forget(name, pins)?;
        pins.make_egress()?;
        let attached = place.attach(self.program(its)?)?;
        match attached.mode() {
            AttachMode::Clsact => info!("{name}: own flows are recorded by an egress filter (clsact)"),
            AttachMode::Native | AttachMode::Tcx => {
                info!("{name}: own flows are recorded by an egress link (TCX)")
            }
        }
        Ok(attached)
    }
}

/// Removes the pin of an interface, and detaches the program. True if it is detached.
fn forget(name: &str, pins: &Pins) -> Result<bool, KernelError> {
    let pin = pins.egress(name);
    let (is_off, _held) = tc::release(&pin, TcSide::Sent, NAME)?;
    let (is_bare_off, _) = tc::release(&pin, TcSide::Sent, NAME_BARE)?;
    pins.forget_egress(name).map_err(|error| KernelError::load("remove the pin of an egress link", error))?;
    Ok(is_off && is_bare_off)
}

fn program_for(framing: Framing) -> &'static str {
    if framing == Framing::Bare { NAME_BARE } else { NAME }
}

/// Removes everything that an ended filterd left. Returns the interfaces that this network namespace cannot
/// reach.
pub fn remove(pins: &Pins) -> Result<Vec<String>, KernelError> {
    let mut out_of_reach = Vec::new();
    for name in pins.egresses() {
        if !forget(&name, pins)? {
            out_of_reach.push(name);
        }
    }
    Ok(out_of_reach)
}
