//! The key of a run of the ring `verifier`: everything that decides which programs the kernel is given, and which kernel it is.

use std::env;

use anyhow::{Context, Result};
use bpf_build::ebpf::{self, Machine};
use bpf_build::{compiled, toolchain};

use super::{Inputs, Kept};
use crate::processor::Processor;

/// Tells the tests which judges they give to the verifier: `whole` or `covering` (read by tests/vm/main.rs).
pub const EXTENT: &str = "FILTERD_VERIFIER";

/// What decides settings and maps, what loads them, and the tests. The text of refusals is tested, too.
const SOURCES: [&str; 5] = [
    "filter-common/src",
    "filter-daemon/src/kernel",
    "filter-daemon/src/blocklist",
    "filter-daemon/src/text",
    "tests/vm",
];

/// Crates such as aya change programs before a kernel sees them.
const FILES: [&str; 2] = ["Cargo.lock", "tests/harness/home.rs"];

/// What of this machine beside its kernel decides what the verifier does.
const FACTS: [&str; 5] = [
    "/proc/sys/net/core/bpf_jit_enable",
    "/proc/sys/net/core/bpf_jit_harden",
    "/sys/kernel/security/lockdown",
    "/sys/devices/system/cpu/vulnerabilities/spectre_v1",
    "/sys/devices/system/cpu/vulnerabilities/spec_store_bypass",
];

/// The kernel whose verifier is asked.
#[derive(Debug, Clone, Copy)]
pub enum Verifier<'a> {
    /// This machine's.
    Here,
    /// A guest's: the release of its package, as in `6.1.0-56-cloud-amd64`, and what runs it.
    Guest { release: &'a str, processor: Processor, accelerator: &'a str },
}

/// The BPF objects that the tests are linked with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Objects {
    /// Those that come with the source, if they are of it.
    AsTheyCome,
    Fresh,
}

/// The judges that the verifier walks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Every combination of settings.
    Whole,
    /// A set in which each pair of settings occurs. An emulated guest takes minutes for the whole.
    Covering,
}

impl Extent {
    /// On this machine: the whole, unless the environment asks for less.
    pub fn here() -> Self {
        Self::chosen(env::var(EXTENT).ok().as_deref(), false)
    }

    /// In a guest: the covering set under emulation, unless the environment asks for the whole, as the soak does.
    pub fn in_guest(is_emulated: bool) -> Self {
        Self::chosen(env::var(EXTENT).ok().as_deref(), is_emulated)
    }

    fn chosen(asked: Option<&str>, is_slow: bool) -> Self {
        match asked {
            Some("whole") => Self::Whole,
            Some("covering") => Self::Covering,
            Some(_) | None if is_slow => Self::Covering,
            Some(_) | None => Self::Whole,
        }
    }

    /// The value of `EXTENT`, and the line in a guest's plan that sets it (read by tests/vm/init.sh).
    pub fn word(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Covering => "covering",
        }
    }
}

/// Where the result of a stage is kept: `verifier`, or `verifier-under-lockdown`, with these words for its tests.
pub fn key(
    stage: &str,
    verifier: Verifier<'_>,
    objects: Objects,
    extent: Extent,
    words: &[String],
) -> Result<Kept> {
    let mut inputs = SOURCES
        .iter()
        .try_fold(Inputs::of_tree(), |inputs, directory| inputs.files_below(directory, &[".rs", ".sh"]))?;
    inputs = FILES.iter().try_fold(inputs, |inputs, file| inputs.file(file))?;
    inputs = inputs.word("stage", stage).word("extent", extent.word());
    inputs = words.iter().fold(inputs, |inputs, word| inputs.word("argument", word));
    let (release, inputs) = match verifier {
        Verifier::Here => {
            let uname = nix::sys::utsname::uname().context("cannot ask the kernel for its name")?;
            let [release, version, machine] = [uname.release(), uname.version(), uname.machine()]
                .map(|word| word.to_string_lossy().into_owned());
            let inputs = inputs.word("release", &release).word("version", &version).word("machine", &machine);
            let inputs = FACTS.iter().fold(inputs, |inputs, fact| inputs.fact(fact));
            (release, with_objects(inputs, objects, &Machine::of_this_build())?)
        }
        Verifier::Guest { release, processor, accelerator } => {
            let inputs = inputs.word("package", release).word("accelerator", accelerator);
            let machine = Machine::little_endian(processor.rust());
            (release.to_owned(), with_objects(inputs, objects, &machine)?)
        }
    };
    Kept::of(&format!("verifier/{release}"), &inputs)
}

/// The bytes that the kernel is given decide, not what made them.
fn with_objects(inputs: Inputs, objects: Objects, machine: &Machine) -> Result<Inputs> {
    let objects = match objects {
        Objects::AsTheyCome => compiled::objects_for(machine)?,
        Objects::Fresh => ebpf::build_embedded(&toolchain::ensure()?, machine, &ebpf::OBJECTS)?,
    };
    Ok(objects.iter().fold(inputs, |inputs, (name, bytes)| inputs.bytes(name, bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn emulated_guests_take_the_covering_set() {
        for (asked, is_slow, extent) in [
            (None, false, Extent::Whole),
            (None, true, Extent::Covering),
            (Some("whole"), true, Extent::Whole),
            (Some("covering"), false, Extent::Covering),
            (Some("nonsense"), false, Extent::Whole),
        ] {
            assert_eq!(Extent::chosen(asked, is_slow), extent, "{asked:?}, {is_slow}");
        }
    }

    #[test]
    fn each_stage_has_a_key_of_its_own() {
        let guest = |release| Verifier::Guest { release, processor: Processor::Amd64, accelerator: "KVM" };
        let arm = Verifier::Guest { release: "6.1.0-1", processor: Processor::Arm64, accelerator: "KVM" };
        let emulated =
            Verifier::Guest { release: "6.1.0-1", processor: Processor::Amd64, accelerator: "TCG" };
        let word = ["any_size".to_owned()];
        let keys = [
            ("verifier", Verifier::Here, Extent::Whole, &[][..]),
            ("verifier", Verifier::Here, Extent::Covering, &[]),
            ("verifier", Verifier::Here, Extent::Whole, &word),
            ("verifier", guest("6.1.0-1"), Extent::Whole, &[]),
            ("verifier", guest("6.1.0-2"), Extent::Whole, &[]),
            ("verifier", arm, Extent::Whole, &[]),
            ("verifier", emulated, Extent::Whole, &[]),
            ("verifier-under-lockdown", guest("6.1.0-1"), Extent::Whole, &[]),
        ];
        let key_of = |(stage, verifier, extent, words): &(&str, Verifier<'_>, Extent, &[String])| {
            key(stage, *verifier, Objects::AsTheyCome, *extent, words).unwrap()
        };
        let shown: BTreeSet<_> = keys.iter().map(|inputs| format!("{:?}", key_of(inputs))).collect();
        assert_eq!(shown.len(), keys.len());
        assert_eq!(key_of(&keys[0]), key_of(&keys[0]));
    }
}
