//! What the kernel tells of programs that this process has loaded, without a capability to ask for.

use std::fs;

/// Instructions that the verifier walked.
#[derive(Debug, PartialEq, Eq)]
pub struct Price {
    /// For the root program, which is loaded first.
    pub root: u64,
    /// For the judge, which is loaded last.
    pub judge: u64,
    /// Are both instructions of the processor now?
    pub is_compiled: bool,
}

/// What says whether the kernel compiles programs. Some do it always, and then nobody asks.
const COMPILES: &str = "/proc/sys/net/core/bpf_jit_enable";

/// Has nobody kept the kernel from compiling programs?
pub fn compiles() -> bool {
    fs::read_to_string(COMPILES).map_or(true, |text| text.trim() != "0")
}

/// What the kernel tells of one of them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Held {
    id: u64,
    walked: u64,
    is_compiled: bool,
}

/// The price of the programs that this process holds.
pub fn price() -> Price {
    let mut programs: Vec<Held> = held().collect();
    programs.sort_unstable();
    let (Some(root), Some(judge)) = (programs.first(), programs.last()) else {
        panic!("both programs are held")
    };
    Price {
        root: root.walked,
        judge: judge.walked,
        is_compiled: programs.iter().all(|held| held.is_compiled),
    }
}

/// Each program behind a descriptor of ours.
fn held() -> impl Iterator<Item = Held> {
    let entries = fs::read_dir("/proc/self/fdinfo").into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let text = fs::read_to_string(entry.path()).ok()?;
        let (id, walked) = (field(&text, "prog_id:")?, field(&text, "verified_insns:")?);
        Some(Held { id, walked, is_compiled: field(&text, "prog_jited:")? == 1 })
    })
}

fn field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name))?.trim().parse().ok()
}
