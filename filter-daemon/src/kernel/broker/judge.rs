//! Loading a judge: the program that its blueprint specialises, over maps that are pinned already.

use std::collections::VecDeque;
use std::thread::{self, JoinHandle};

use aya::maps::MapData;
use aya::programs::{ProgramFd, Xdp};
use aya::{Ebpf, EbpfLoader, VerifierLogLevel, include_bytes_aligned};
use filter_common::reason::Enforcement;
use filter_common::settings::{self, Settings};

use super::super::KernelError;
use super::super::error::may_please_the_verifier;
use super::counters;
use super::debug::Lines;
use super::pins::Pins;
use super::request::{Blueprint, MapUse};
use super::tables::Tables;

pub static OBJECT: &[u8] = include_bytes_aligned!(concat!(env!("OUT_DIR"), "/judge"));

/// A loaded judge.
#[derive(Debug)]
pub struct Judge {
    program: ProgramFd,
    blueprint: Blueprint,
    _lines: Option<Lines>,
}

/// One that is being loaded, or that is and waits to be wanted.
#[derive(Debug)]
pub struct Foreseen {
    blueprint: Blueprint,
    loading: JoinHandle<Result<Judge, KernelError>>,
}

impl Foreseen {
    /// Is it built from this?
    pub fn is(&self, blueprint: &Blueprint) -> bool {
        self.blueprint == *blueprint
    }

    /// Is it still being loaded?
    pub fn is_coming(&self) -> bool {
        !self.loading.is_finished()
    }

    /// Does it use this map?
    pub fn uses(&self, map: MapUse) -> bool {
        self.blueprint.maps.contains(&map)
    }

    /// It, or why there is none; waits until it is loaded.
    pub fn judge(self) -> Result<Judge, KernelError> {
        let judge = self.loading.join();
        judge.unwrap_or_else(|_| Err(KernelError::refused("load the judge", "its loader has failed")))
    }
}

/// What judges are loaded with. aya's loader reads all types of the kernel's, 5 MB, before it can be told that nobody wants
/// them: that takes several times as long as a judge, and the owner waits. So after each judge the loaders for the next ones
/// are made aside: a table made aside is published, and the lengths that it is for at once behind it.
#[derive(Default)]
pub struct Loader {
    next: VecDeque<JoinHandle<EbpfLoader<'static>>>,
}

/// So many are ready.
const READY: usize = 2;

impl Loader {
    /// Loads a judge built like this over the maps that are pinned for it.
    pub fn load(
        &mut self,
        blueprint: Blueprint,
        pins: &Pins,
        ring: Option<MapData>,
    ) -> Result<Judge, KernelError> {
        let tables = Judge::open(&blueprint, pins, ring)?;
        let loaded = Judge::load(blueprint, &tables, self.loader());
        self.begin_next();
        loaded
    }

    /// Begins to load one like this.
    pub fn foresee(
        &mut self,
        blueprint: Blueprint,
        pins: &Pins,
        ring: Option<MapData>,
    ) -> Result<Foreseen, KernelError> {
        let tables = Judge::open(&blueprint, pins, ring)?;
        let (loader, its) = (self.loader(), blueprint.clone());
        let begun = thread::Builder::new().name("judge".to_owned());
        let begun = begun.spawn(move || Judge::load(its, &tables, loader));
        let loading = begun.map_err(|error| KernelError::load("begin to load the judge", error))?;
        self.begin_next();
        Ok(Foreseen { blueprint, loading })
    }

    fn loader(&mut self) -> EbpfLoader<'static> {
        self.next.pop_front().and_then(|next| next.join().ok()).unwrap_or_else(typeless)
    }

    fn begin_next(&mut self) {
        let begin = || thread::Builder::new().name("loader".to_owned()).spawn(typeless).ok();
        self.next.extend((self.next.len()..READY).filter_map(|_| begin()));
    }
}

fn typeless() -> EbpfLoader<'static> {
    let mut loader = EbpfLoader::new();
    loader.btf(None);
    loader
}

impl Judge {
    /// The maps that one like this looks into.
    fn open(blueprint: &Blueprint, pins: &Pins, ring: Option<MapData>) -> Result<Tables, KernelError> {
        let mut tables = Tables::open(&blueprint.maps, pins)?;
        if matches_new(blueprint) {
            tables.open_flows(pins)?;
        }
        ring.into_iter().for_each(|ring| tables.add_samples(ring));
        Ok(tables)
    }

    fn load(blueprint: Blueprint, tables: &Tables, loader: EbpfLoader<'static>) -> Result<Self, KernelError> {
        let failed =
            |error: &(dyn std::error::Error + 'static)| KernelError::load_of("load the judge", error);
        let settings = counters::known_to(&blueprint.settings);
        let mut loader: EbpfLoader<'_> = loader;
        loader.override_global("SETTINGS", &settings[..], true);
        if !may_please_the_verifier() {
            // It refuses, and why is known: what it says of a judge takes it longer to write than to find.
            loader.verifier_log_level(VerifierLogLevel::DISABLE);
        }
        let object = tables.write_into(OBJECT).map_err(|error| failed(&error))?;
        let mut object: Ebpf = loader.load(&object).map_err(|error| failed(&error))?;
        let program: &mut Xdp = object
            .program_mut(if blueprint.has_ports { "filterd_ports" } else { "filterd_judge" })
            .and_then(|program| program.try_into().ok())
            .expect("the embedded object has these XDP programs");
        program.load().map_err(|error| failed(&error))?;
        let program = program.fd().and_then(|fd| Ok(fd.try_clone()?)).map_err(|error| failed(&error))?;
        let lines = Lines::follow(&mut object);
        Ok(Self { program, blueprint, _lines: lines })
    }

    /// The program.
    pub fn program(&self) -> &ProgramFd {
        &self.program
    }

    /// Does it tell any drop in full?
    pub fn samples(&self) -> bool {
        samples(&self.blueprint) != 0
    }

    /// The maps that it uses.
    pub fn maps(&self) -> &[MapUse] {
        &self.blueprint.maps
    }

    /// Does it let pass what this host began?
    pub fn matches_new(&self) -> bool {
        matches_new(&self.blueprint)
    }

    /// What it would be built from if protection were not paused and nobody watched, if either is so.
    pub fn alone(&self) -> Option<Blueprint> {
        let words: &[u64; settings::WORDS] = self.blueprint.settings.as_slice().try_into().ok()?;
        let settings = Settings::from_words(words);
        let is_paused = Enforcement::of(settings.enforce) == Enforcement::Pause;
        let enforce = if is_paused { Enforcement::Drop as u64 } else { settings.enforce };
        let resumed = Settings { enforce, paused_until: 0, samples: 0, ..settings };
        (is_paused || settings.samples != 0)
            .then(|| Blueprint { settings: resumed.as_words().to_vec(), ..self.blueprint.clone() })
    }
}

/// Does a judge like this ask for own flows?
pub fn matches_new(blueprint: &Blueprint) -> bool {
    settings_of(blueprint).is_some_and(|settings| settings.match_new != 0)
}

/// How many drops does one like this tell in full, of each processor in a window?
pub fn samples(blueprint: &Blueprint) -> u64 {
    settings_of(blueprint).map_or(0, |settings| settings.samples)
}

fn settings_of(blueprint: &Blueprint) -> Option<Settings> {
    let words: &[u64; settings::WORDS] = blueprint.settings.as_slice().try_into().ok()?;
    Some(Settings::from_words(words))
}
