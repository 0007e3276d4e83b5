//! Loads judges: the BPF program, specialised by a blueprint, on maps that are pinned already.

use std::thread::{self, JoinHandle};

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
use super::loaders;
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

/// Loads a judge from this blueprint, on the maps that are pinned for it.
pub fn load(
    hooks: &[Hook],
    blueprint: Blueprint,
    pins: &Pins,
    ring: Option<MapData>,
) -> Result<Judge, KernelError> {
    let mut judge = Judge { programs: Vec::new(), blueprint };
    judge.complete(hooks, pins, ring)?;
    Ok(judge)
}

/// Starts loading a judge in the background.
pub fn foresee(
    hooks: Vec<Hook>,
    blueprint: Blueprint,
    pins: &Pins,
    ring: Option<MapData>,
) -> Result<BackgroundJudge, KernelError> {
    let tables = Judge::open(&blueprint, pins, ring)?;
    let mut judge = Judge { programs: Vec::new(), blueprint: blueprint.clone() };
    let load = move || judge.load(&hooks, &tables).map(|()| judge);
    let begun = thread::Builder::new().name("judge".to_owned()).spawn(load);
    let loading = begun.map_err(|error| KernelError::load("begin to load the judge", error))?;
    Ok(BackgroundJudge { blueprint, loading })
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

    /// Loads the programs that it lacks for these hooks.
    pub fn complete(
        &mut self,
        hooks: &[Hook],
        pins: &Pins,
        ring: Option<MapData>,
    ) -> Result<(), KernelError> {
        let missing: Vec<_> = hooks.iter().filter(|hook| self.program(**hook).is_none()).copied().collect();
        if missing.is_empty() {
            return Ok(());
        }
        let tables = Self::open(&self.blueprint, pins, ring)?;
        self.load(&missing, &tables)
    }

    fn load(&mut self, hooks: &[Hook], tables: &Tables) -> Result<(), KernelError> {
        loaders::with(|loader| {
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
        })
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
