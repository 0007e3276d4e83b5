//! A random life of one filterd, every step of it judged on the wire by a plain reference.
//!
//! What is done is decided by a seed alone, so a seed repeats its life. What comes of it is compared with a model that
//! knows lists, targets and times and nothing else. `FILTERD_LIFE_SKIP` leaves kinds of steps and checks out.

mod allowing;
mod alter;
mod asking;
mod attribution;
mod batch;
mod begun;
mod changes;
mod clocks;
mod copies;
mod counters;
mod deaths;
mod disk;
mod extent;
mod feeds;
mod heldback;
mod host;
mod judge;
mod left_out;
mod meanwhile;
mod packets;
mod plan;
mod planted;
mod ports;
mod prefix;
mod reference;
mod reloads;
mod trouble;
mod wanted;
mod world;

use std::collections::VecDeque;
use std::thread;
use std::time::{Duration, Instant};

use begun::Question;
use host::Needed;
use left_out::LeftOut;
use plan::{Plan, Reader};
use prefix::Prefix;
use reference::{Configured, Reference};
use wanted::{During, Time};

pub use planted::Planted;
use world::World;

use crate::{Net, OwnRun, Random, Site, SmallDisk};

/// So long another order of lists may take to come about: a second is promised, machines are slow.
const SOON: Duration = Duration::from_secs(20);

/// How much of the past is told when something went wrong.
const TOLD: usize = 10;

/// One life.
#[derive(Debug)]
pub struct Life {
    /// The disk of the state directory.
    disk: SmallDisk,
    net: Net,
    seed: u64,
    step: usize,
    random: Random,
    world: World,
    /// What the configuration is meant to be; the one in force is `applied`.
    plan: Plan,
    applied: Plan,
    reference: Reference,
    /// The generation on disk.
    saved: (Plan, Configured),
    /// The disk is full, so that stays.
    is_full: bool,
    /// What is in force is on trial, so that stays.
    is_on_trial: bool,
    born: Instant,
    /// When filterd died, if it is dead: its filter stays as it was then.
    frozen: Option<Time>,
    /// It took its filter with it.
    is_detached: bool,
    /// What lists are, and since when, is on disk as filterd has it: somebody was told so, and it has read nothing since.
    is_written: bool,
    left_out: LeftOut,
    /// Where one of its lists is fetched from.
    site: Site,
    /// Where the host's sessions are written down.
    run: OwnRun,
    /// What the host needs beside what it always needs.
    needed: Vec<Needed>,
    /// What the host has asked others.
    questions: Vec<Question>,
    /// Which boot it is, and how much later by its time than by the machine's.
    boot: u32,
    later: Duration,
    /// How long numbers of lists may be other ones than they should.
    patience: Duration,
    /// The most targets in one batch.
    largest: usize,
    frames: usize,
    diary: VecDeque<String>,
}

/// What there was in a life.
#[derive(Clone, Copy, Debug)]
pub struct Lived {
    /// The seed that repeats it.
    pub seed: u64,
    /// Steps.
    pub steps: usize,
    /// Packets judged.
    pub frames: usize,
    /// How long it took.
    pub took: Duration,
}

/// Lives the life of this seed: so many steps, or as many as can be begun in that time. No batch is larger than this.
pub fn live(seed: u64, steps: usize, time: Duration, largest: usize) -> Lived {
    let mut life = Life::new(seed, largest);
    while life.step < steps && life.born.elapsed() < time {
        life.one_step();
    }
    Lived { seed, steps: life.step, frames: life.frames, took: life.born.elapsed() }
}

/// Lives the life of this seed with a stale label in it after so many steps, and a few steps more. It is to panic.
pub fn live_with_a_stale_label(seed: u64, steps: usize, planted: Planted) {
    let mut life = Life::new(seed, 12);
    // Nothing is still coming where nobody does anything.
    life.patience = Duration::from_secs(2);
    while life.step < steps {
        life.one_step();
    }
    let touched = life.plant(planted);
    life.judge(&touched);
}

impl Life {
    fn new(seed: u64, largest: usize) -> Self {
        let (mut random, plan, left_out) = (Random(seed), Plan::new(), LeftOut::told());
        let mut world = World::new(&mut random);
        if left_out.has("bulk6") {
            world.most6 = 60;
        }
        let mut reference = Reference::new();
        reference.configure(plan.read(None, Reader::New, During(0.0, 0.0)));
        let mut net = Net::new();
        let disk = SmallDisk::of_state_with(net.home(), disk::ROOM);
        let run = net.lives_with_its_own_run();
        net.home().be_patient();
        net.start(&plan.text());
        let site = Site::up(&net);
        let applied = plan.clone();
        let saved = (plan.clone(), reference.configured.clone());
        Self {
            disk,
            net,
            seed,
            step: 0,
            random,
            world,
            plan,
            applied,
            reference,
            saved,
            is_full: false,
            is_on_trial: false,
            born: Instant::now(),
            frozen: None,
            is_detached: false,
            is_written: false,
            left_out,
            site,
            run,
            needed: Vec::new(),
            questions: Vec::new(),
            boot: 0,
            later: Duration::ZERO,
            patience: SOON,
            largest,
            frames: 0,
            diary: VecDeque::new(),
        }
    }

    /// One thing happens, and what it touched is judged.
    fn one_step(&mut self) {
        self.step += 1;
        let touched = self.something();
        self.judge(&touched);
    }

    /// Whatever the dice say; tells which targets may have changed.
    fn something(&mut self) -> Vec<Prefix> {
        // While nothing is dropped, the wire tells little.
        if self.is_paused() && self.random.below(2) == 0 {
            return self.resume_or_wait();
        }
        match self.random.below(103) {
            0..15 => self.add(),
            15..18 => self.unless_left_out("pause", Self::pause),
            18..22 => self.unless_left_out("trial", Self::reload_on_trial),
            22..28 => self.unless_left_out("allow", Self::allow_or_not),
            28..33 => self.unless_left_out("guard", Self::need_or_not),
            33..36 => self.unless_left_out("new", Self::begin_something),
            36..50 => self.remove(),
            50..53 => self.flush(),
            53..66 => self.reload(),
            66..71 => self.unless_left_out("feed", Self::feed),
            71..74 => self.unless_left_out("failing", Self::failing_reload),
            74..76 => self.unless_left_out("taken", Self::add_to_a_list_of_the_configuration),
            76..79 => self.unless_left_out("taken", Self::configure_the_name_of_a_live_list),
            79..82 => self.unless_left_out("refuse", Self::refused_memory),
            82..86 => self.unless_left_out("kill", Self::kill_and_start),
            86..88 => self.unless_left_out("midkill", Self::kill_while_adding),
            88..90 => self.unless_left_out("stop", Self::stop_and_start),
            90..93 => self.unless_left_out("takeover", Self::take_over),
            93..96 => self.unless_left_out("parallel", Self::all_at_once),
            96..98 => self.unless_left_out("disk", Self::fill_disk),
            98..100 => self.unless_left_out("copies", Self::lose_copies),
            _ => self.wait(),
        }
    }

    fn unless_left_out(&mut self, kind: &str, step: impl Fn(&mut Self) -> Vec<Prefix>) -> Vec<Prefix> {
        if self.left_out.has(kind) { self.add() } else { step(self) }
    }

    /// Time goes by, and bans end.
    fn wait(&mut self) -> Vec<Prefix> {
        let time = Duration::from_millis(500 + self.random.below(2000) as u64);
        self.note(format!("{} ms go by", time.as_millis()));
        thread::sleep(time);
        Vec::new()
    }

    fn now(&self) -> Time {
        self.born.elapsed().as_secs_f64()
    }

    /// Writes into the diary what is about to happen.
    fn note(&mut self, words: String) {
        let line = format!("{:>5} at {:7.1} s: {words}", self.step, self.now());
        if std::env::var_os("FILTERD_LIFE_TELL").is_some() {
            eprintln!("{line}");
        }
        self.diary.push_back(line);
        if self.diary.len() > TOLD {
            self.diary.pop_front();
        }
    }

    /// How many at once this time: mostly few.
    fn size(&mut self) -> usize {
        let most = match self.random.below(100) {
            0..60 => 12,
            60..82 => 300,
            82..95 => 5_000,
            _ => 100_000,
        };
        1 + self.random.below(most.min(self.largest))
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        if thread::panicking() {
            let diary: Vec<_> = self.diary.iter().map(String::as_str).collect();
            eprintln!(
                "-- seed {}, step {}; repeat it as `soak life` with FILTERD_SEED={} FILTERD_STEPS={} FILTERD_LARGEST={}. The last of it:\n{}",
                self.seed,
                self.step,
                self.seed,
                self.step,
                self.largest,
                diary.join("\n")
            );
        }
    }
}
