//! The program of DPDK's tables for `bench filter`: Debian's libraries, unpacked in the cache, and a file of C.
//!
//! They are archives: so the program finds what it needs wherever they lie. Of what depends on the machine only two small
//! libraries are left, which come along.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use bpf_build::{process, workspace};

use crate::tools;

const PACKAGE: &str = "libdpdk-dev";
const OTHERS: [&str; 3] = ["libnuma1", "libbsd0", "libmd0"];

const SOURCE: &str = "tests/bench/filter/dpdk.c";

/// Tables, and what they stand on; in newer ones some of it lies apart.
const LIBRARIES: [&str; 14] = [
    "fib",
    "lpm",
    "rib",
    "hash",
    "rcu",
    "mempool",
    "ring",
    "eal",
    "kvargs",
    "telemetry",
    "mbuf",
    "net",
    "log",
    "argparse",
];
/// Nobody calls this one: it tells of itself when it is there, and without it there is no memory for anything.
const WHOLE: &str = "mempool_ring";

/// Words for the runner: the program, or why there is none.
pub fn words(short: bool) -> [OsString; 2] {
    if short {
        return ["--no-dpdk".into(), "the short form leaves them out".into()];
    }
    match build() {
        Ok(program) => ["--dpdk".into(), program.into()],
        Err(error) => {
            eprintln!("there are no tables of DPDK's: {error:#}");
            ["--no-dpdk".into(), format!("{error:#}").lines().next().unwrap_or_default().into()]
        }
    }
}

fn build() -> Result<PathBuf> {
    let root = tools::alone(PACKAGE, &OTHERS, |root| libraries(root).is_some())?;
    let libraries = libraries(&root).context("it was just looked for")?;
    let program = workspace::target()?.join("bench-dpdk");
    process::run_quietly(&mut compile(&root, &libraries, &program)).context("cannot build dpdk.c")?;
    Ok(program)
}

/// The directory of the libraries, which is named after the machine.
fn libraries(root: &Path) -> Option<PathBuf> {
    let directories = fs::read_dir(root.join("usr/lib")).ok()?.flatten().map(|entry| entry.path());
    directories.into_iter().find(|directory| directory.join("librte_fib.a").exists())
}

fn compile(root: &Path, libraries: &Path, program: &Path) -> Command {
    let machine = libraries.file_name().unwrap_or_default();
    let include = root.join("usr/include");
    let mut cc = Command::new("cc");
    cc.args(["-O3", "-march=native", "-include", "rte_config.h", "-I"]).arg(include.join("dpdk"));
    cc.arg("-I").arg(include.join(machine).join("dpdk"));
    cc.arg(workspace::root().join(SOURCE)).arg("-o").arg(program);
    // Where they lie is for the packager to say.
    for directory in [libraries.to_owned(), root.join("lib").join(machine)] {
        cc.arg("-L").arg(&directory).arg(format!("-Wl,-rpath,{}", directory.display()));
    }
    let archive = |name: &str| format!("-l:librte_{name}.a");
    cc.arg("-Wl,--whole-archive").arg(archive(WHOLE)).arg("-Wl,--no-whole-archive,--start-group");
    let is_here = |name: &&str| libraries.join(format!("librte_{name}.a")).exists();
    cc.args(LIBRARIES.iter().copied().filter(is_here).map(archive)).arg("-Wl,--end-group");
    cc.args(["-l:libnuma.so.1", "-l:libbsd.so.0", "-l:libmd.so.0", "-lpthread", "-ldl", "-lm"]);
    cc
}
