//! The programs of filter-ebpf/soak, loaded before and behind filterd's own.

use std::fs;
use std::path::Path;

use aya::maps::{MapData, ProgramArray};
use aya::programs::Xdp;
use aya::{Ebpf, EbpfLoader};
use aya_obj::programs::XdpAttachType;

/// Loads the object, which counts in the counters under these pins, with these settings.
pub fn load(pins: &Path, settings: &[(&str, u64)]) -> Ebpf {
    let object =
        std::env::var_os("FILTERD_SOAK_OBJECT").expect("cargo xtask soak tells where the object lies");
    let object = fs::read(object).expect("cargo xtask soak has built it");
    let settings: Vec<_> = settings.iter().map(|(name, value)| (*name, value.to_ne_bytes())).collect();
    let mut loader = EbpfLoader::new();
    loader.btf(None).map_pin_path("COUNTERS", pins.join("counters"));
    for (name, value) in &settings {
        loader.override_global(name, &value[..], true);
    }
    loader.load(&object).expect("the object is whole")
}

/// Loads one of its XDP programs.
pub fn xdp<'a>(object: &'a mut Ebpf, name: &str) -> &'a mut Xdp {
    let program = object.program_mut(name).expect("the object has it");
    let program: &mut Xdp = program.try_into().expect("it is an XDP program");
    program.load().expect("the verifier has nothing to say");
    program
}

/// Puts filterd's root program into this slot. It stays there as long as the slot is held.
#[must_use = "the kernel empties a slot that nobody holds"]
pub fn aim(object: &mut Ebpf, slot: &str, pins: &Path) -> ProgramArray<MapData> {
    let root = Xdp::from_pin(pins.join("root"), XdpAttachType::Interface).expect("it is pinned");
    let slot = object.take_map(slot).expect("the object has this slot");
    let mut slot = ProgramArray::try_from(slot).expect("it is for programs");
    slot.set(0, root.fd().expect("it is loaded"), 0).expect("both are XDP programs with frags");
    slot
}
