//! Loads judges: the BPF program, specialised by a blueprint, on maps that are pinned already.

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
use super::debug::DebugLines;
use super::pins::Pins;
use super::request::{Blueprint, MapUse};
use super::tables::{Tables, write_settings};

pub static OBJECT: &[u8] = include_bytes_aligned!(concat!(env!("OUT_DIR"), "/judge"));

#[derive(Debug)]
pub struct Judge {
    program: ProgramFd,
    id: u32,
    blueprint: Blueprint,
    _lines: Option<DebugLines>,
}

/// A judge that is being loaded in the background, or is loaded and not used yet.
#[derive(Debug)]
pub struct BackgroundJudge {
    blueprint: Blueprint,
    loading: JoinHandle<Result<Judge, KernelError>>,
}

impl BackgroundJudge {
    /// True if it is built from this blueprint.
    pub fn is(&self, blueprint: &Blueprint) -> bool {
        self.blueprint == *blueprint
    }

    /// True while it is being loaded.
    pub fn is_coming(&self) -> bool {
        !self.loading.is_finished()
    }

    /// True if it uses this map.
    pub fn uses(&self, map: MapUse) -> bool {
        self.blueprint.maps.contains(&map)
    }

    /// Returns the judge or its error, and waits until it is loaded.
    pub fn judge(self) -> Result<Judge, KernelError> {
        let judge = self.loading.join();
        judge.unwrap_or_else(|_| Err(KernelError::refused("load the judge", "its loader has failed")))
    }
}

/// Loaders for judges, prepared in advance. aya's loader reads all types of the kernel (5 MB) before it can
/// be told to ignore them. This takes several times as long as loading a judge, and delays the owner or other
/// work. The broker therefore makes loaders when it starts, and reuses them: no data of a judge stays in a
/// loader.
pub struct Loader {
    ready: Vec<EbpfLoader<'static>>,
    /// The channel for new loaders, and for those returned after background use.
    back: Sender<EbpfLoader<'static>>,
    coming: Receiver<EbpfLoader<'static>>,
    making: Option<JoinHandle<()>>,
}

/// Loaders to keep: one for a judge that is needed now, one for a judge that is loaded in the background.
const READY: usize = 2;

/// The longest wait for a loader that is being made. After that the caller makes one itself.
const PATIENCE: Duration = Duration::from_millis(100);

impl Default for Loader {
    fn default() -> Self {
        let (back, coming) = channel();
        Self { ready: Vec::new(), back, coming, making: None }
    }
}

impl Loader {
    /// Starts making loaders one after another, because the first will be needed soon.
    pub fn begin(&mut self) {
        let made = self.back.clone();
        let make = move || (0..READY).for_each(|_| _ = made.send(typeless()));
        // Without a thread, each caller makes its own loader.
        self.making = thread::Builder::new().name("loaders".to_owned()).spawn(make).ok();
    }

    /// Loads a judge from this blueprint, on the maps that are pinned for it.
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

    /// Starts loading a judge in the background.
    pub fn foresee(
        &mut self,
        blueprint: Blueprint,
        pins: &Pins,
        ring: Option<MapData>,
    ) -> Result<BackgroundJudge, KernelError> {
        let tables = Judge::open(&blueprint, pins, ring)?;
        let (loader, back, its) = (self.any_ready(), self.back.clone(), blueprint.clone());
        let load = move || {
            let mut loader = loader.unwrap_or_else(typeless);
            let loaded = Judge::load(its, &tables, &mut loader);
            // The receiver may be gone.
            _ = back.send(loader);
            loaded
        };
        let begun = thread::Builder::new().name("judge".to_owned()).spawn(load);
        let loading = begun.map_err(|error| KernelError::load("begin to load the judge", error))?;
        Ok(BackgroundJudge { blueprint, loading })
    }

    /// A loader that is ready, or that will be ready soon.
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
    /// Opens the maps that a judge from this blueprint reads.
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
        // Without the capability, a refusal is expected. Writing the log would then take longer than finding
        // the error.
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
        let lines = DebugLines::follow(&mut object);
        Ok(Self { program, id, blueprint, _lines: lines })
    }

    pub fn program(&self) -> &ProgramFd {
        &self.program
    }

    pub fn id(&self) -> u32 {
        self.id
    }

    /// True if it samples drops.
    pub fn samples(&self) -> bool {
        samples(&self.blueprint) != 0
    }

    pub fn maps(&self) -> &[MapUse] {
        &self.blueprint.maps
    }

    /// True if it passes flows that this host began.
    pub fn matches_new(&self) -> bool {
        matches_new(&self.blueprint)
    }

    /// The same judge without a pause and without samples; none if it has neither.
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

/// True if such a judge checks own flows.
pub fn matches_new(blueprint: &Blueprint) -> bool {
    settings_of(blueprint).is_some_and(|settings| settings.match_new != 0)
}

/// The samples that such a judge takes per processor in a time window.
pub fn samples(blueprint: &Blueprint) -> u64 {
    settings_of(blueprint).map_or(0, |settings| settings.samples)
}

fn settings_of(blueprint: &Blueprint) -> Option<Settings> {
    let words: &[u64; settings::WORDS] = blueprint.settings.as_slice().try_into().ok()?;
    Some(Settings::from_words(words))
}
