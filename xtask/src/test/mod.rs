//! `test`: all layers of tests on this machine, those that depend on the kernel on others, and one table of the results.

pub mod by_hand;
mod chosen;
mod failure;
mod layer;
mod model;
mod programs;
mod progress;
mod runner;
mod soaking;
pub mod supervise;
mod surroundings;
pub mod tally;
mod times;

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;

use anyhow::{Context, Result, ensure};
use bpf_build::{compiled, process, toolchain};
use clap::Args;
use nix::sys::statvfs::statvfs;
use nix::unistd::{AccessFlags, access};

use crate::build::{self, Profile};
use crate::dist;
use crate::kept::Kept;
use crate::kept::verifier::{self, Extent, Verifier};
use crate::results::{Report, Results};
use crate::side_by_side::Places;
use crate::surroundings as surroundings_soak;
use crate::tools::Tools;
use crate::vm::Vm;

pub use chosen::Chosen;
pub use failure::Failure;
use layer::{LAYERS, Layer, ON_OBJECTS, SHORT_SOAKS};
pub use programs::{Objects, Programs};
pub use progress::Progress;
pub use runner::{Pace, Program, Tests};
pub use soaking::Soaking;

/// The variable that tells soaks where the programs lie that send and count their frames.
pub const SOAK_OBJECT: &str = "FILTERD_SOAK_OBJECT";

/// The variable that names the daemon to test. Without it one is built.
pub const DAEMON: &str = "FILTERD_BIN";

/// The variable that tells long tests to run whole.
pub const WHOLE: &str = "FILTERD_WHOLE";

/// Files here are kept in memory.
pub const MEMORY: &str = "/dev/shm";

/// More than all tests of units together write there. Some containers have 64 MB.
const ROOM: u64 = 1 << 30;

/// What to run, and where.
#[derive(Debug, Default, Args)]
pub struct Test {
    /// Run only these: names of layers (units, wording, model, judge, program, network, odd_inputs, soak, verifier), and
    /// parts of the names of tests, on any layer
    names: Vec<String>,
    /// Run everything: on every kernel that filterd is tested on, every short soak, and the packed binary too
    #[arg(long, conflicts_with = "names")]
    all: bool,
}

impl Test {
    /// Runs what is chosen, and prints the table.
    pub fn run(&self) -> Result<ExitCode> {
        let names: Vec<_> = LAYERS.iter().map(|layer| layer.name()).collect();
        let chosen = Chosen::read(&self.names, &names);
        let run = Run::prepare(chosen, self.all)?;
        let results = run.everywhere()?;
        run.progress.clear();
        if results.are_empty() {
            eprintln!("xtask: no test matches {}", self.names.join(" "));
        }
        Ok(results.tell())
    }
}

/// Everything that a run needs.
struct Run {
    chosen: Chosen,
    is_all: bool,
    programs: Programs,
    progress: Progress,
}

impl Run {
    /// Builds what is to be tested.
    fn prepare(chosen: Chosen, is_all: bool) -> Result<Self> {
        let needs_root = LAYERS.iter().any(|layer| layer.needs_root() && chosen.has_layer(layer.name()));
        ensure!(
            !needs_root || process::is_root(),
            "the tests of programs and networks need root\n       try `cargo xtask test units wording model judge`, or all as root: sudo env \"PATH=$PATH\" \"HOME=$HOME\" cargo xtask test"
        );
        let programs = Programs::build(&chosen, Objects::Committed)?;
        Ok(Self { chosen, is_all, programs, progress: Progress::new() })
    }

    /// On this machine, and beside it in guests what depends on the kernel: one guest at a time, and two once the machine has
    /// nothing else to do. Soaks have the machine for themselves.
    fn everywhere(&self) -> Result<Results> {
        let mut here = report()?;
        let mut guests = Results::default();
        let places = Places::new(1);
        thread::scope(|scope| {
            if self.chosen.is_everything() {
                let (guests, places) = (&mut guests, &places);
                scope.spawn(move || self.in_guests(guests, places));
            }
            let ran = self.beside_guests(&mut here);
            places.add();
            ran
        })?;
        self.run(Layer::Soak, Objects::Committed, &self.programs, &mut here);
        self.progress.end("");
        let mut results = Results::default();
        results.add(here);
        results.include(guests);
        Ok(results)
    }

    fn in_guests(&self, guests: &mut Results, places: &Places) {
        let vm = if self.is_all {
            self.daemon().map(|daemon| Vm::every_in_short().with_daemon(daemon))
        } else {
            Ok(Vm::oldest())
        };
        match vm {
            Ok(vm) => vm.test_where_it_can(guests, &self.progress, places),
            Err(error) => {
                let mut report = Report::new("Virtual machines".to_owned());
                report.fail("the packed binary", &error);
                guests.add(report);
            }
        }
    }

    /// With `--all` it is the one that `dist` packs, else one that is built as that is, or the one that the caller names. It is
    /// built when it is first wanted: until then units run beside the compiler.
    fn daemon(&self) -> Result<PathBuf> {
        if let Some(given) = env::var_os(DAEMON) {
            return Ok(given.into());
        }
        if self.is_all { dist::own_binary() } else { build::daemon(Profile::Release) }
    }

    fn beside_guests(&self, here: &mut Report) -> Result<()> {
        let layers = LAYERS.into_iter().filter(|layer| *layer != Layer::Soak);
        layers.for_each(|layer| self.run(layer, Objects::Committed, &self.programs, here));
        if self.chosen.is_everything() && self.has_other_objects()? {
            let fresh = Programs::build(&self.chosen, Objects::Fresh)?;
            ON_OBJECTS.into_iter().for_each(|layer| self.run(layer, Objects::Fresh, &fresh, here));
        }
        if self.is_all {
            let ran = self.daemon().and_then(|daemon| surroundings_soak::run_into(here, true, Some(&daemon)));
            ran.unwrap_or_else(|error| here.fail("surroundings", &error));
        }
        Ok(())
    }

    /// Does this machine compile other objects than those that come with the source? Then both must be right. Without `--all`
    /// no toolchain is installed to find out.
    fn has_other_objects(&self) -> Result<bool> {
        let toolchain = if self.is_all { Some(toolchain::ensure()?) } else { toolchain::find().ok() };
        toolchain.map_or(Ok(false), |toolchain| Ok(!compiled::are_made_here(&toolchain)?))
    }

    /// Runs a layer. Whatever becomes of it, the next one runs.
    fn run(&self, layer: Layer, objects: Objects, programs: &Programs, report: &mut Report) {
        let name = match objects {
            Objects::Committed => layer.name().to_owned(),
            Objects::Fresh => format!("{} of fresh objects", layer.name()),
        };
        let ran = self.try_to_run(layer, &name, (programs, objects), report);
        ran.unwrap_or_else(|error| report.fail(&name, &error));
    }

    fn try_to_run(
        &self,
        layer: Layer,
        name: &str,
        (programs, objects): (&Programs, Objects),
        report: &mut Report,
    ) -> Result<()> {
        if !self.chosen.has_layer(layer.name()) {
            return Ok(());
        }
        let tools = match Tools::provide(layer.tools()) {
            Ok(tools) => tools,
            Err(missing) => {
                report.lack(name, &missing);
                return Ok(());
            }
        };
        if layer == Layer::Model {
            return model::run(&tools, &self.chosen, report, &self.progress);
        }
        let kept = if layer == Layer::Verifier { Some(self.kept_of_verifier(objects)?) } else { None };
        if let Some(success) = kept.as_ref().and_then(Kept::find) {
            report.replay(name, &success);
            return Ok(());
        }
        if layer == Layer::Network {
            for (tests, tools) in layer::OPTIONAL {
                let _ = Tools::provide(tools).map_err(|missing| report.lack(tests, &missing));
            }
        }
        let daemon = layer.needs_root().then(|| self.daemon()).transpose()?;
        let mut programs: Vec<_> = programs.of(layer).collect();
        for program in &mut programs {
            equip(program, layer, daemon.as_deref(), &tools)?;
            if self.is_all {
                program.variables.push((WHOLE.to_owned(), "1".into()));
            }
        }
        let is_short = layer == Layer::Soak && self.chosen.is_everything() && !self.is_all;
        let belongs = |test: &str| {
            layer.has(test) && (!is_short || SHORT_SOAKS.iter().any(|soak| test.starts_with(soak)))
        };
        let (programs, pace) = (&programs[..], layer.pace());
        let tests = Tests { place: "", layer: name, programs, belongs: &belongs, with_ignored: false, pace };
        let passed = tests.run(&self.chosen, report, &self.progress)?;
        if let Some(kept) = kept.filter(|_| report.has_passed_whole()) {
            kept.remember(&passed);
        }
        Ok(())
    }

    fn kept_of_verifier(&self, objects: Objects) -> Result<Kept> {
        let objects = match objects {
            Objects::Committed => verifier::Objects::AsTheyCome,
            Objects::Fresh => verifier::Objects::Fresh,
        };
        verifier::key(Layer::Verifier.name(), Verifier::Here, objects, Extent::here(), self.chosen.parts())
    }
}

/// Gives a test program what its layer calls.
fn equip(program: &mut Program, layer: Layer, daemon: Option<&Path>, tools: &Tools) -> Result<()> {
    program.variables.push(("PATH".to_owned(), tools.path()));
    if layer == Layer::Units && has_room(MEMORY) {
        // Thousands of files are written and flushed: on a disk that is what most of the time goes to.
        program.variables.push(("TMPDIR".to_owned(), MEMORY.into()));
    }
    program.variables.extend(daemon.map(|daemon| (DAEMON.to_owned(), daemon.into())));
    if layer == Layer::Soak {
        program.variables.push((SOAK_OBJECT.to_owned(), compiled::soak()?.into()));
    }
    Ok(())
}

/// Can files of tests be written there?
fn has_room(directory: &str) -> bool {
    let is_writable = access(directory, AccessFlags::W_OK).is_ok();
    let room = statvfs(directory).map_or(0, |told| told.blocks_available() * told.fragment_size());
    is_writable && room >= ROOM
}

/// This machine's, with nothing in it yet.
fn report() -> Result<Report> {
    let uname = nix::sys::utsname::uname().context("cannot ask the kernel for its name")?;
    Ok(Report::new(format!("Linux {} (this machine)", uname.release().to_string_lossy())))
}
