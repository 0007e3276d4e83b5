//! Checks that judges get the settings that tests/proof knows, for the sets to block and to allow, at every
//! table size where something changes. The proof holds for any settings that satisfy `settings.py`, and it
//! checks that each of these settings does.

use std::collections::BTreeSet;
use std::mem::offset_of;
use std::{env, fs};

use filter_common::cuckoo::geometry::Geometry;
use filter_common::labels::pages;
use filter_common::levels::size;
use filter_common::sets::PerSet;
use filter_common::settings::Settings;

use super::{JudgeSpec, SetSpec};
use crate::blocklist;
use crate::kernel::kind::{AddressTable, Kind as _, SixTable};
use crate::kernel::levels::LevelsMap;
use crate::kernel::networks::NetworksMap;

const PLACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/proof/settings.jsonl");

#[test]
fn judge_settings_match_the_proof() {
    let received = |(block, allow)| spec(PerSet { block, allow, ..Default::default() }).words();
    let told: String = pairs().map(|sets| line(received(sets))).collect();
    if env::var_os("PROOF_SETTINGS").is_some_and(|choice| choice == "write") {
        fs::write(PLACE, &told).expect("the tree can be written to");
    }
    let known = fs::read_to_string(PLACE).expect("the tree has it");
    assert!(
        known == told,
        "judges get other settings: write them with PROOF_SETTINGS=write, then prove anew"
    );
}

/// The proof of the judge of sent frames needs no settings of its own.
#[test]
fn sent_frames_have_the_same_settings() {
    let sent = |(out, allow)| spec(PerSet { out, allow, ..Default::default() }).words().of_sent();
    assert!(pairs().map(sent).all(|settings| (settings.outbound, settings.match_new) == (1, 0)));
    let told: String = pairs().map(|sets| line(sent(sets))).collect();
    assert!(
        fs::read_to_string(PLACE).expect("the tree has it") == told,
        "judges of sent frames get other settings"
    );
}

/// Steps through the sizes of levels by this many. The first is the smallest, and repeated cycles reach all
/// sizes.
const LEVELS_APART: usize = 64;

/// Each set to block, together with its predecessor as the set to allow. Each set thereby occurs once in each
/// role.
fn pairs() -> impl Iterator<Item = (SetSpec, SetSpec)> {
    let sets: Vec<SetSpec> = sets().collect();
    let before = sets.clone().into_iter().cycle().skip(sets.len() - 1);
    sets.into_iter().zip(before)
}

fn spec(sets: PerSet<SetSpec>) -> JudgeSpec {
    JudgeSpec {
        settings: blocklist::Settings::default(),
        sets,
        clauses: Default::default(),
        overlap: None,
        lists: None,
        samples: 0,
    }
}

/// The empty set, then each size of IPv4 with one of IPv6. The smaller IPv6 sizes are repeated with other
/// lengths.
fn sets() -> impl Iterator<Item = SetSpec> {
    let some = |lengths: &[u8]| lengths.iter().copied().collect::<BTreeSet<u8>>();
    let lengths =
        [some(&[64]), some(&[128]), some(&[15, 32, 48, 64, 65, 128]), some(&[]), (15..=128).collect()];
    let four = turns(Geometry::all_exact4());
    let mut levels = size::all().cycle().step_by(LEVELS_APART);
    let mut six = turns(Geometry::all_six()).into_iter().cycle();
    let mut lengths = lengths.into_iter().cycle();
    let sized = four.into_iter().zip(0_u32..).map(move |(geometry, number)| {
        // Two of three have labels.
        let is_labelled = number % 3 != 0;
        let label_bits = is_labelled.then(|| pages::SIZES.start() + number % 11);
        SetSpec {
            networks: Some(NetworksMap { generation: 1, label_bits }),
            addresses: Some(AddressTable::new(1, geometry, is_labelled)),
            levels: levels.next().map(|size| LevelsMap { generation: 1, size, label_bits }),
            six: six.next().map(|geometry| SixTable::new(1, geometry, is_labelled)),
            lengths: lengths.next().expect("it begins again"),
        }
    });
    [SetSpec::default()].into_iter().chain(sized)
}

/// The sizes that are a power of two, and those just before them: the shape of a table changes there.
fn turns(all: impl Iterator<Item = Geometry>) -> Vec<Geometry> {
    let all: Vec<Geometry> = all.collect();
    let is_turn = |at: usize| {
        let next = all.get(at + 1);
        all[at].buckets().is_power_of_two() || next.is_none_or(|next| next.buckets().is_power_of_two())
    };
    (0..all.len()).filter(|at| is_turn(*at)).map(|at| all[at]).collect()
}

/// The nonzero words of both sets by number, without keys and without everything after the IPv6 key.
fn line(mut settings: Settings) -> String {
    let sets = &mut settings.sets;
    [&mut sets.block, &mut sets.allow].into_iter().for_each(|set| set.addresses4.key = Default::default());
    let number = |byte: usize| byte / size_of::<u64>();
    let block = number(offset_of!(Settings, sets.block))..number(offset_of!(Settings, sets.block.six.key64));
    let allow = number(offset_of!(Settings, sets.allow))..number(offset_of!(Settings, sets.allow.six.key64));
    let words = settings.as_words();
    let told = block.chain(allow).filter(|at| words[*at] != 0);
    let told: Vec<String> = told.map(|at| format!("\"{at}\": {}", words[at])).collect();
    format!("{{{}}}\n", told.join(", "))
}
