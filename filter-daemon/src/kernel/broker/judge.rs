//! Loading a judge: the program that its blueprint specialises, over maps that are pinned already.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

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
use super::tables::{Tables, write_settings};

pub static OBJECT: &[u8] = include_bytes_aligned!(concat!(env!("OUT_DIR"), "/judge"));

/// A loaded judge.
#[derive(Debug)]
pub struct Judge {
    program: ProgramFd,
    id: u32,
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
/// them: that takes several times as long as a judge, and the owner waits, or what else needs a processor does. So loaders are
/// made when the broker begins, and used again and again: nothing of a judge stays in one.
pub struct Loader {
    ready: Vec<EbpfLoader<'static>>,
    /// Those that are made come by this, and those that have been used aside come back.
    back: Sender<EbpfLoader<'static>>,
    coming: Receiver<EbpfLoader<'static>>,
    making: Option<JoinHandle<()>>,
}

/// So many: one judge may be wanted while another one is loaded aside.
const READY: usize = 2;

/// How long one that is being made is waited for, before whoever wants it makes one himself.
const PATIENCE: Duration = Duration::from_millis(100);

impl Default for Loader {
    fn default() -> Self {
        let (back, coming) = channel();
        Self { ready: Vec::new(), back, coming, making: None }
    }
}

impl Loader {
    /// Begins to make what will be wanted, one after the other: the first is wanted soon.
    pub fn begin(&mut self) {
        let made = self.back.clone();
        let make = move || (0..READY).for_each(|_| _ = made.send(typeless()));
        // Where there is no thread to be had, whoever wants one makes it.
        self.making = thread::Builder::new().name("loaders".to_owned()).spawn(make).ok();
    }

    /// Loads a judge built like this over the maps that are pinned for it.
    pub fn load(
        &mut self,
        blueprint: Blueprint,
        pins: &Pins,
        ring: Option<MapData>,
    ) -> Result<Judge, KernelError> {
        let tables = Judge::open(&blueprint, pins, ring)?;
        let mut loader = self.any().unwrap_or_else(typeless);
        let loaded = Judge::load(blueprint, &tables, &mut loader);
        self.ready.push(loader);
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
        let (loader, back, its) = (self.any_ready(), self.back.clone(), blueprint.clone());
        let load = move || {
            let mut loader = loader.unwrap_or_else(typeless);
            let loaded = Judge::load(its, &tables, &mut loader);
            // Whoever foresaw it may be gone.
            _ = back.send(loader);
            loaded
        };
        let begun = thread::Builder::new().name("judge".to_owned()).spawn(load);
        let loading = begun.map_err(|error| KernelError::load("begin to load the judge", error))?;
        Ok(Foreseen { blueprint, loading })
    }

    /// One that is ready, or else soon will be.
    fn any(&mut self) -> Option<EbpfLoader<'static>> {
        self.any_ready().or_else(|| {
            let is_coming = self.making.as_ref().is_some_and(|making| !making.is_finished());
            is_coming.then(|| self.coming.recv_timeout(PATIENCE).ok()).flatten()
        })
    }

    fn any_ready(&mut self) -> Option<EbpfLoader<'static>> {
        self.ready.extend(self.coming.try_iter());
        self.ready.truncate(READY);
        self.ready.pop()
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

    fn load(
        blueprint: Blueprint,
        tables: &Tables,
        loader: &mut EbpfLoader<'static>,
    ) -> Result<Self, KernelError> {
        let failed =
            |error: &(dyn std::error::Error + 'static)| KernelError::load_of("load the judge", error);
        let settings = counters::known_to(&blueprint.settings);
        // Where it refuses because it may, why is known: what it says of a judge takes it longer to write than to find.
        loader.verifier_log_level(if may_please_the_verifier() {
            VerifierLogLevel::default()
        } else {
            VerifierLogLevel::DISABLE
        });
        let mut object = tables.write_into(OBJECT).map_err(|error| failed(&error))?;
        write_settings(&mut object, &settings).map_err(|error| failed(&error))?;
        let mut object: Ebpf = loader.load(&object).map_err(|error| failed(&error))?;
        let program: &mut Xdp = object
            .program_mut(if blueprint.has_ports { "filterd_ports" } else { "filterd_judge" })
            .and_then(|program| program.try_into().ok())
            .expect("the embedded object has these XDP programs");
        program.load().map_err(|error| failed(&error))?;
        let id = program.info().map_err(|error| failed(&error))?.id();
        let program = program.fd().and_then(|fd| Ok(fd.try_clone()?)).map_err(|error| failed(&error))?;
        let lines = Lines::follow(&mut object);
        Ok(Self { program, id, blueprint, _lines: lines })
    }

    /// The program.
    pub fn program(&self) -> &ProgramFd {
        &self.program
    }

    /// The kernel's number for it.
    pub fn id(&self) -> u32 {
        self.id
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
