//! Programs with one of the lists in them.

use std::fmt;

use anyhow::{Context, Result};
use aya::programs::{ProgramFd, Xdp};
use aya::{Ebpf, EbpfLoader};
use filterd::blocklist::Blocklist;

use super::lengths;
use super::lists::List;
use crate::filterd::Filterd;
use crate::rivals;
use crate::subject::{self, Stage};

/// Which program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// It looks nothing up.
    Parse,
    Filterd,
    /// filterd where packets are counted all together, and not for each list: as the others count them.
    Total,
    Trie,
    /// It asks once for each length in use, as filterd did before. IPv6 only.
    Lengths,
}

/// One of them.
pub struct Contender {
    pub who: Who,
    program: Program,
}

enum Program {
    Bench(Box<Ebpf>, &'static str),
    Filterd(Box<Filterd>),
}

impl Who {
    pub const ALL: [Self; 5] = [Self::Parse, Self::Filterd, Self::Total, Self::Trie, Self::Lengths];

    /// Those who take a list of this family.
    pub fn of(is_six: bool) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(move |who| is_six || *who != Self::Lengths)
    }
}

impl Contender {
    /// Loads it, and everything of the list into it; `truth` says what that is for filterd.
    pub fn new(who: Who, list: &List, truth: &Blocklist, stage: &Stage<'_>) -> Result<Self> {
        let program = match who {
            Who::Parse => bench("bench_parse", stage.load("bench_parse", &mut EbpfLoader::new())?),
            Who::Filterd => Program::Filterd(Box::new(Filterd::enforcing(truth)?)),
            Who::Total => Program::Filterd(Box::new(Filterd::uncounted_for_lists(truth)?)),
            Who::Trie => trie(list, stage)?,
            Who::Lengths => {
                let prefixes = list.six().context("there are IPv6 prefixes")?;
                bench(lengths::PROGRAM, lengths::load(stage, prefixes)?)
            }
        };
        Ok(Self { who, program })
    }

    /// What packets are sent to.
    pub fn entry(&self) -> Result<&ProgramFd> {
        Ok(match &self.program {
            Program::Bench(object, name) => {
                let program: &Xdp = object.program(name).context("it is loaded")?.try_into()?;
                program.fd()?
            }
            Program::Filterd(filterd) => filterd.entry()?,
        })
    }
}

/// A blocklist on which everything of the list is.
pub fn truth(list: &List) -> Result<Blocklist> {
    subject::wanted(list.targets().collect())
}

fn trie(list: &List, stage: &Stage<'_>) -> Result<Program> {
    let count = u32::try_from(list.len())?;
    if let Some(prefixes) = list.four() {
        let trie = rivals::trie_of(stage, count, prefixes.iter().copied())?;
        return Ok(bench("bench_trie", trie));
    }
    let prefixes = list.six().context("it is of one of the families")?;
    Ok(bench("bench_trie6", rivals::trie6_of(stage, count, prefixes.iter().copied())?))
}

fn bench(name: &'static str, object: Ebpf) -> Program {
    Program::Bench(Box::new(object), name)
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Parse => "parse only",
            Self::Filterd => "filterd",
            Self::Total => "filterd, counters: total",
            Self::Trie => "BPF LPM trie",
            Self::Lengths => "one probe a length",
        })
    }
}
