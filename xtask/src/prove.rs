//! `prove`: proves the compiled judges that this build embeds with z3. The theorems are Python, in `tests/proof`;
//! docs/internals/proof.md lists them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};
use bpf_build::ebpf::OBJECTS;
use bpf_build::{compiled, process, workspace};
use clap::Args;

use crate::kept::{self, Inputs, Kept};
use crate::tools::python;

/// The solver, and what reads object files.
const PACKAGES: &str = include_str!("tools/python/proof.txt");

/// The theorems that take long, and the key of the objects and the proof that they were proved with.
const RECORD: &str = "tests/proof/recorded.txt";

/// The object with the judge for XDP. The proof finds all others beside it.
const JUDGE: &str = "judge";

/// How much of it.
#[derive(Debug, Args)]
pub struct Prove {
    /// See that each fault put into the judge on purpose is refuted, too
    #[arg(long)]
    mutants: bool,
    /// Write the frames that show mutants wrong where `test program` replays them
    #[arg(long, requires_all = ["mutants", "anew"])]
    write: bool,
    /// Prove again what was proved of the same object by the same proof
    #[arg(long)]
    anew: bool,
    /// Take the theorems that need longer than 20 s from tests/proof/recorded.txt, if it is of these objects and this proof
    #[arg(long, conflicts_with_all = ["mutants", "record"])]
    recorded: bool,
    /// Prove all again, and write that file
    #[arg(long, conflicts_with = "mutants")]
    record: bool,
}

impl Prove {
    pub fn run(&self) -> Result<ExitCode> {
        compiled::provide()?;
        let python = python::with("proof", PACKAGES)?;
        let directory = workspace::target()?.join("proof");
        fs::create_dir_all(&directory).with_context(|| format!("cannot make {}", directory.display()))?;
        // The other objects lie beside the judge, as they do in what comes with the source.
        for (name, object) in compiled::objects()? {
            let place = directory.join(name);
            fs::write(&place, object).with_context(|| format!("cannot write {}", place.display()))?;
        }
        let others = compiled::of_others(JUDGE)?;
        let inputs = inputs(&directory, &others)?;
        let (record, key) = (workspace::root().join(RECORD), inputs.key()?);
        let kept = kept(&python, inputs)?;
        let mut prove = Command::new(python);
        prove.arg(workspace::root().join("tests/proof/prove.py")).arg(directory.join(JUDGE));
        // A proof leaves nothing beside its source.
        prove.env("PYTHONDONTWRITEBYTECODE", "1");
        let examples = workspace::root().join("tests/program/counterexamples.jsonl");
        prove.arg("--counterexamples").arg(&examples);
        for other in others {
            prove.arg("--other").arg(other);
        }
        if self.mutants {
            prove.arg("--mutants");
        }
        if self.write {
            prove.arg("--counterexamples-of-mutants").arg(&examples);
        }
        if !self.anew && !self.record && kept::is_allowed() {
            prove.arg("--kept").arg(kept.make_directory()?);
        }
        if self.recorded {
            prove.arg("--recorded").arg(&record).args(["--key", &key]);
        }
        if self.record {
            prove.arg("--record").arg(&record).args(["--key", &key]);
        }
        let status = prove.status().context("cannot start Python")?;
        Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// Where theorems are kept that came out as expected, a file each: of these objects, by this proof, solver and Python.
fn kept(python: &Path, inputs: Inputs) -> Result<Kept> {
    let version = process::output(Command::new(python).arg("--version"))?;
    Kept::of("proof", &inputs.word("python", &version))
}

/// What decides how a theorem comes out: objects, proof and solver.
fn inputs(directory: &Path, others: &[PathBuf]) -> Result<Inputs> {
    let inputs = Inputs::of_tree().files_below("tests/proof", &[".py", ".jsonl"])?.word("packages", PACKAGES);
    let judges = [directory.join(JUDGE)].into_iter().chain(others.iter().cloned());
    judges.enumerate().try_fold(inputs, |inputs, (number, judge)| {
        OBJECTS.into_iter().try_fold(inputs, |inputs, object| {
            let place = judge.with_file_name(object);
            let bytes = fs::read(&place).with_context(|| format!("cannot read {}", place.display()))?;
            anyhow::Ok(inputs.bytes(&format!("{object} {number}"), &bytes))
        })
    })
}
