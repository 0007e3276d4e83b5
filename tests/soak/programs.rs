//! The programs of filter-ebpf/soak, loaded before and behind filterd's own.

use std::fs;
use std::os::fd::AsFd;
use std::path::Path;

use aya::maps::{Map, MapData, ProgramArray};
use aya::programs::Xdp;
use aya::{Ebpf, EbpfLoader};
use aya_obj::programs::XdpAttachType;
use filter_common::{WordsMut, counters as layout};
use filterd::kernel::broker::tables;
use filterd::kernel::window::Window;

/// Sources that they can be told.
pub const MOST_TOLD: u64 = 1 << 21;

/// Loads the object, which counts in the counters under these pins, with these settings.
pub fn load(pins: &Path, settings: &[(&str, u64)]) -> Ebpf {
    let object =
        std::env::var_os("FILTERD_SOAK_OBJECT").expect("cargo xtask soak tells where the object lies");
    let object = fs::read(object).expect("cargo xtask soak has built it");
    let counters = MapData::from_pin(pins.join("counters")).expect("filterd has pinned its counters");
    // Its number is written into the object, and must mean it still when a program of that is loaded.
    let counters: &'static MapData = Box::leak(Box::new(counters));
    let object =
        tables::written(&object, &[("COUNTERS", counters.fd().as_fd())]).expect("the object is whole");
    let bytes = counters.info().expect("the kernel tells of a map").value_size();
    let last_processor = u64::from((bytes / 8 - layout::NUMBERS - layout::DIRECTORY) / layout::ROW - 1);
    let settings = settings.iter().copied().chain([("LAST_PROCESSOR", last_processor)]);
    let settings: Vec<_> = settings.map(|(name, value)| (name, value.to_ne_bytes())).collect();
    let mut loader = EbpfLoader::new();
    loader.btf(None);
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

/// Tells them IPv6 sources.
pub fn tell(object: &mut Ebpf, sources: impl Iterator<Item = u128>) {
    let words = window(object, "TOLD", 2 * MOST_TOLD as u32);
    for (at, source) in (0..).step_by(2).zip(sources) {
        words.store(at, (source >> 64) as u64);
        words.store(at + 1, source as u64);
    }
}

/// The words of one of their maps.
pub fn window(object: &mut Ebpf, name: &str, words: u32) -> Window {
    let Some(Map::Array(map)) = object.map(name) else { panic!("the object has no array {name}") };
    Window::open(map.fd(), words).expect("it can be mapped")
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
