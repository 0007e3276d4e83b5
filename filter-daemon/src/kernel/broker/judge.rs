//! Loads judges: the BPF program, specialised by a blueprint, on maps that are pinned already.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use aya::maps::MapData;
use aya::programs::{ProgramFd, SchedClassifier, Xdp};
use aya::{Ebpf, EbpfLoader, VerifierLogLevel};
use filter_common::reason::Enforcement;
use filter_common::sets::SetName;
use filter_common::settings::{self, Settings};

use super::super::KernelError;
use super::super::error::may_please_the_verifier;
use super::super::hook::Hook;
use super::counters;
use super::debug::DebugLines;
use super::object;
use super::pins::Pins;
use super::request::{Blueprint, MapUse};
use super::tables::{Tables, write_settings};

/// A judge: a program for each hook in use, all of the same blueprint.
#[derive(Debug)]
pub struct Judge {
    programs: Vec<JudgeProgram>,
    blueprint: Blueprint,
}

#[derive(Debug)]
pub struct JudgeProgram {
    hook: Hook,
    program: ProgramFd,
    id: u32,
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
        hooks: &[Hook],
        blueprint: Blueprint,
        pins: &Pins,
        ring: Option<MapData>,
    ) -> Result<Judge, KernelError> {
        let mut judge = Judge { programs: Vec::new(), blueprint };
        self.complete(&mut judge, hooks, pins, ring)?;
        Ok(judge)
    }

    /// Loads the programs that a judge lacks for these hooks.
    pub fn complete(
        &mut self,
        judge: &mut Judge,
        hooks: &[Hook],
        pins: &Pins,
        ring: Option<MapData>,
    ) -> Result<(), KernelError> {
        let missing: Vec<_> = hooks.iter().filter(|hook| judge.program(**hook).is_none()).copied().collect();
        if missing.is_empty() {
            return Ok(());
        }
        let tables = Judge::open(&judge.blueprint, pins, ring)?;
        let mut loader = self.any().unwrap_or_else(typeless);
        let loaded = judge.load(&missing, &tables, &mut loader);
        self.ready.push(loader);
        loaded
    }

    /// Starts loading a judge in the background.
    pub fn foresee(
        &mut self,
        hooks: Vec<Hook>,
        blueprint: Blueprint,
        pins: &Pins,
        ring: Option<MapData>,
    ) -> Result<BackgroundJudge, KernelError> {
        let tables = Judge::open(&blueprint, pins, ring)?;
        let (loader, back, its) = (self.any_ready(), self.back.clone(), blueprint.clone());
        let load = move || {
            let mut loader = loader.unwrap_or_else(typeless);
            let mut judge = Judge { programs: Vec::new(), blueprint: its };
            let loaded = judge.load(&hooks, &tables, &mut loader);
            // The receiver may be gone.
            _ = back.send(loader);
            loaded.map(|()| judge)
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
    pub fn open(blueprint: &Blueprint, pins: &Pins, ring: Option<MapData>) -> Result<Tables, KernelError> {
        let mut tables = Tables::open(&blueprint.maps, pins)?;
        if matches_new(blueprint) {
            tables.open_flows(pins)?;
        }
        ring.into_iter().for_each(|ring| tables.add_samples(ring));
        Ok(tables)
    }

    fn load(
        &mut self,
        hooks: &[Hook],
        tables: &Tables,
        loader: &mut EbpfLoader<'static>,
    ) -> Result<(), KernelError> {
        // Without the capability, a refusal is expected. Writing the log would then take longer than finding
        // the error.
        loader.verifier_log_level(if may_please_the_verifier() {
            VerifierLogLevel::default()
        } else {
            VerifierLogLevel::DISABLE
        });
        for hook in hooks {
            self.programs.push(JudgeProgram::load(*hook, &self.blueprint, tables, loader)?);
        }
        Ok(())
    }

    /// The hooks that it has programs for.
    pub fn hooks(&self) -> Vec<Hook> {
        self.programs.iter().map(|program| program.hook).collect()
    }

    /// Its program for this hook, if it has one.
    pub fn program(&self, hook: Hook) -> Option<&JudgeProgram> {
        self.programs.iter().find(|program| program.hook == hook)
    }

    /// True if it samples drops.
    pub fn samples(&self) -> bool {
        samples(&self.blueprint) != 0
    }

    pub fn blueprint(&self) -> &Blueprint {
        &self.blueprint
    }

    pub fn maps(&self) -> &[MapUse] {
        &self.blueprint.maps
    }

    /// True if it passes flows that this host began.
    pub fn matches_new(&self) -> bool {
        matches_new(&self.blueprint)
    }

    /// True if it judges sent frames, too.
    pub fn is_outbound(&self) -> bool {
        is_outbound(&self.blueprint)
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

impl JudgeProgram {
    fn load(
        hook: Hook,
        blueprint: &Blueprint,
        tables: &Tables,
        loader: &mut EbpfLoader<'static>,
    ) -> Result<Self, KernelError> {
        let failed =
            |error: &(dyn std::error::Error + 'static)| KernelError::load_of("load the judge", error);
        let settings = counters::known_to(&of_hook(&blueprint.settings, hook));
        let bytes = if hook == Hook::Xdp { &object::JUDGE } else { &object::JUDGE_TC };
        let mut object = tables.write_into(bytes, hook).map_err(|error| failed(&error))?;
        write_settings(&mut object, &settings).map_err(|error| failed(&error))?;
        let mut object: Ebpf = loader.load(&object).map_err(|error| failed(&error))?;
        let name = if blueprint.has_ports && !hook.is_sent() { "filterd_ports" } else { "filterd_judge" };
        let program = object.program_mut(name).expect("the embedded object has these programs");
        let (id, fd) = match hook {
            Hook::Xdp => {
                let program: &mut Xdp = program.try_into().expect("they are programs of XDP");
                program.load().map_err(|error| failed(&error))?;
                (program.info().map_err(|error| failed(&error))?.id(), program.fd())
            }
            Hook::Tc | Hook::TcBare | Hook::Sent | Hook::SentBare => {
                let program: &mut SchedClassifier = program.try_into().expect("they are programs of TC");
                program.load().map_err(|error| failed(&error))?;
                (program.info().map_err(|error| failed(&error))?.id(), program.fd())
            }
        };
        let program = fd.and_then(|fd| Ok(fd.try_clone()?)).map_err(|error| failed(&error))?;
        let lines = DebugLines::follow(&mut object);
        Ok(Self { hook, program, id, _lines: lines })
    }

    pub fn program(&self) -> &ProgramFd {
        &self.program
    }

    pub fn id(&self) -> u32 {
        self.id
    }
}

/// The settings for this hook.
pub fn of_hook(words: &[u64], hook: Hook) -> Vec<u64> {
    let Ok(words) = words.try_into() else { return words.to_vec() };
    let settings = Settings::from_words(words);
    let settings = if hook.is_sent() { settings.of_sent() } else { settings };
    Settings { bare: hook.is_bare().into(), ..settings }.as_words().to_vec()
}

/// True if such a judge checks own flows.
pub fn matches_new(blueprint: &Blueprint) -> bool {
    settings_of(blueprint).is_some_and(|settings| settings.match_new != 0)
}

/// True if such a judge blocks destinations.
pub fn is_outbound(blueprint: &Blueprint) -> bool {
    blueprint.maps.iter().any(|map| map.map.set == SetName::Out)
}

/// The samples that such a judge takes per processor in a time window.
pub fn samples(blueprint: &Blueprint) -> u64 {
    settings_of(blueprint).map_or(0, |settings| settings.samples)
}

fn settings_of(blueprint: &Blueprint) -> Option<Settings> {
    let words: &[u64; settings::WORDS] = blueprint.settings.as_slice().try_into().ok()?;
    Some(Settings::from_words(words))
}
