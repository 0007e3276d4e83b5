//! Where a replay is played: maps with the words that it says, and a judge over them that nobody else has.

use std::collections::HashMap;
use std::os::fd::AsFd;
use std::thread;

use aya::maps::{HashMap as BpfHashMap, Map, MapData};
use aya::programs::{TestRun, TestRunOptions, Xdp};
use aya::{Ebpf, EbpfLoader};
use filter_common::flow::KEY_WORDS;
use filter_common::{Words, WordsMut, counters, settings};
use filterd::kernel::broker::{JUDGE, tables};
use filterd::kernel::window::Window;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use serde_json::Value;

use super::mutant::Mutant;
use super::{settings_of, words};
use crate::judges::{cannot_cut, context};

const ARRAY: u32 = 2;
const LRU_HASH: u32 = 9;
const MMAPABLE: u32 = 1 << 10;

/// As tests/proof/still.py has it: what is remembered of a flow is young, whatever the clock says.
const JUST_NOW: u64 = u64::MAX;

/// Maps in which packets are counted.
const COUNTED: [&str; 2] = ["COUNTERS", "LISTS"];

const JUDGE_NAME: &str = "filterd_judge";

/// What is known of a packet and of all that it meets.
pub struct Stage {
    settings: [u64; settings::WORDS],
    maps: Vec<Table>,
    flows: Vec<[u64; KEY_WORDS]>,
    frame: Vec<u8>,
    linear: usize,
    processor: usize,
}

/// A map of words.
struct Table {
    name: String,
    words: u32,
    not_zero: Vec<(u32, u64)>,
}

/// What came of it.
pub enum Outcome {
    Played(Played),
    /// The kernel does not take the program.
    Refused(String),
    /// This machine cannot play it.
    Skipped(String),
}

/// What became of the packet: the action, and which words of these maps are not zero any more.
#[derive(Debug)]
pub struct Played {
    pub action: u32,
    pub counted: HashMap<String, Vec<(u32, u64)>>,
}

impl Stage {
    /// The object that tests/proof/replay.py writes.
    pub fn of(replay: &Value) -> Self {
        let number = |value: &Value| value.as_u64().expect("a number");
        let settings = settings_of(replay);
        let rows = settings::Settings::from_words(&settings).last_processor as u32 + 1;
        let maps = replay["maps"].as_object().expect("maps by their names").iter();
        let told = maps.map(|(name, map)| Table {
            name: name.clone(),
            words: number(&map["words"]) as u32,
            not_zero: words(&map["not zero"]).collect(),
        });
        let counters =
            Table { name: "COUNTERS".to_owned(), words: counters::words(rows), not_zero: Vec::new() };
        let flows = replay["flows"].as_array().expect("flows").iter();
        let key = |flow: &Value| std::array::from_fn(|at| number(&flow[at]));
        Self {
            settings,
            maps: told.chain([counters]).collect(),
            flows: flows.map(key).collect(),
            frame: crate::counterexamples::bytes(replay["frame"].as_str().expect("a frame")),
            linear: number(&replay["linear"]) as usize,
            processor: number(&replay["processor"]) as usize,
        }
    }

    /// What becomes of it by the judge, or by one that is broken so.
    pub fn play(&self, mutant: Option<&Mutant>) -> Outcome {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        if self.processor >= processors {
            return Outcome::Skipped(format!("it is about processor {}, of {processors}", self.processor));
        }
        let windows: Vec<(&str, MapData, Window)> = self.maps.iter().map(Table::made).collect();
        let flows = self.own_flows();
        let object = match load(mutant, &self.settings, &windows, &flows) {
            Ok(object) => object,
            Err(why) => return Outcome::Refused(why),
        };
        let judge: &Xdp = object.program(JUDGE_NAME).expect("it is there").try_into().expect("it is XDP");
        if self.linear < self.frame.len()
            && let Some(why) = cannot_cut(judge)
        {
            return Outcome::Skipped(why);
        }
        // Who was asked whether it can be cut was counted.
        let counters = windows.iter().filter(|(name, ..)| COUNTED.contains(name));
        counters.for_each(|(_, map, window)| {
            not_zero(map, window).iter().for_each(|(at, _)| window.store(*at, 0))
        });
        let context = context(self.linear);
        let context = (self.linear < self.frame.len()).then_some(&context[..]);
        let options = TestRunOptions { data_in: Some(&self.frame), ctx_in: context, ..TestRunOptions::new() };
        let action = on_processor(self.processor, || judge.test_run(options)).expect("the kernel runs it");
        let counted = windows.iter().filter(|(name, ..)| COUNTED.contains(name));
        let counted = counted.map(|(name, map, window)| ((*name).to_owned(), not_zero(map, window)));
        Outcome::Played(Played { action: action.return_value, counted: counted.collect() })
    }

    fn own_flows(&self) -> MapData {
        let map = create("flows", LRU_HASH, size_of::<[u64; KEY_WORDS]>(), size_of::<u64>(), 64, 0);
        let mut map = Map::LruHashMap(map);
        let flows = BpfHashMap::try_from(&mut map);
        let mut flows: BpfHashMap<_, [u64; KEY_WORDS], u64> = flows.expect("it is a hash");
        self.flows.iter().for_each(|key| flows.insert(key, JUST_NOW, 0).expect("there is room"));
        let Map::LruHashMap(map) = map else { unreachable!("it was one") };
        map
    }
}

impl Table {
    fn made(&self) -> (&str, MapData, Window) {
        let map = create(&self.name, ARRAY, size_of::<u32>(), self.words as usize * 8, 1, MMAPABLE);
        let window = Window::open(map.fd(), self.words).expect("it can be mapped");
        self.not_zero.iter().for_each(|(at, word)| window.store(*at, *word));
        (&self.name, map, window)
    }
}

fn create(name: &str, kind: u32, key: usize, value: usize, entries: u32, flags: u32) -> MapData {
    let definition = aya_obj::Map::new_from_params(kind, key as u32, value as u32, entries, flags);
    MapData::create(definition, name, None).expect("root may make maps")
}

/// The judge over these maps, or why the verifier refuses it.
fn load(
    mutant: Option<&Mutant>,
    settings: &[u64; settings::WORDS],
    tables: &[(&str, MapData, Window)],
    flows: &MapData,
) -> Result<Ebpf, String> {
    let object = match mutant {
        None => JUDGE.to_vec(),
        Some(mutant) => mutant.made_of(&JUDGE).ok_or("it has no such instruction")?,
    };
    let maps = tables.iter().map(|(name, map, _)| (*name, map.fd().as_fd()));
    let maps: Vec<_> = maps.chain([("FLOWS", flows.fd().as_fd())]).collect();
    let object = tables::written(&object, &maps).expect("the object is whole");
    let mut loader = EbpfLoader::new();
    loader.btf(None);
    loader.override_global("SETTINGS", &settings[..], true);
    let mut object = loader.load(&object).expect("the object is whole");
    let judge: &mut Xdp = object.program_mut(JUDGE_NAME).expect("it is there").try_into().expect("it is XDP");
    judge.load().map_err(|error| format!("the verifier refuses it: {error:?}"))?;
    Ok(object)
}

/// Threads of tests come and go, so this one need not be given back what it had.
fn on_processor<T>(number: usize, run: impl FnOnce() -> T + Send) -> T
where
    T: Send,
{
    let here = || {
        let mut one = CpuSet::new();
        one.set(number).expect("there are so many");
        sched_setaffinity(Pid::from_raw(0), &one).expect("this thread may stay there");
        run()
    };
    thread::scope(|scope| scope.spawn(here).join()).expect("it has not panicked")
}

fn not_zero(map: &MapData, window: &Window) -> Vec<(u32, u64)> {
    let words = map.info().expect("the kernel tells of a map").value_size() / 8;
    (0..words).map(|at| (at, window.load(at))).filter(|(_, word)| *word != 0).collect()
}
