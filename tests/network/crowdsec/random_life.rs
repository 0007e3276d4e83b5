//! A thousand random decisions, deletes and ends, with kills and cut answers among them: enforced is what is decided.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::Value;

use super::{config, enforced, key};
use harness::lapi::{LapiAnswer, LapiDecision, ScriptedLapi};
use harness::{Net, Random};

const ROUNDS: usize = 40;
const OPERATIONS: usize = 25;

/// Each origin, and its list.
const ORIGINS: [(&str, &str); 3] =
    [("cscli", "crowdsec-cscli"), ("CAPI", "crowdsec-capi"), ("lists:tor", "crowdsec-lists-tor")];

/// Addresses are decided on again and again.
const ADDRESSES: usize = 150;

/// When the third question is asked, two answers are in force.
const QUESTIONS: usize = 3;

/// LAPI rounds a duration to the nearest second, so a decision may end so much earlier than LAPI itself ends it.
const EARLIER: Duration = Duration::from_millis(600);

/// The next filterd restores an end in its own time, and takes it for that of LAPI if they differ by two seconds.
const RESTORED_EARLIER: Duration = Duration::from_secs(2);

/// filterd rounds the end up to a whole second, and the time that LAPI takes counts, on a busy machine, too.
const LATER: Duration = Duration::from_secs(10);

/// A list and a target of it.
type Entry = (String, IpAddr);

/// What is decided, kept as simply as possible.
#[derive(Default)]
struct Decided {
    decisions: BTreeMap<u64, (Entry, Instant)>,
    made: u64,
    /// These were deleted when no filterd was there to be told. They stay until two full answers lack them.
    unheard: BTreeSet<Entry>,
}

impl Decided {
    /// Entries that are decided at this time, give or take what rounding does.
    fn at(&self, time: Instant) -> BTreeSet<Entry> {
        let lasting = self.decisions.values().filter(|(_, end)| *end > time);
        lasting.map(|(entry, _)| entry.clone()).collect()
    }

    /// Entries that must be enforced now. The last filterd may have been killed in this round.
    fn required(&self, is_killed: bool) -> BTreeSet<Entry> {
        self.at(Instant::now() + EARLIER + if is_killed { RESTORED_EARLIER } else { Duration::ZERO })
    }

    /// Entries that may have been enforced at this time.
    fn allowed(&self, time: Instant) -> BTreeSet<Entry> {
        let allowed = self.at(time.checked_sub(LATER).expect("this machine has run for a while"));
        allowed.union(&self.unheard).cloned().collect()
    }

    /// Each entry with its decisions, and the milliseconds that they have left.
    fn explained(&self, entries: &[&Entry]) -> Vec<String> {
        let now = Instant::now();
        let left = |end: &Instant| end.saturating_duration_since(now).as_millis();
        let decisions = |entry: &Entry| -> Vec<_> {
            let of_it = self.decisions.iter().filter(|(_, (other, _))| other == entry);
            of_it.map(|(id, (_, end))| (*id, left(end))).collect()
        };
        entries.iter().map(|entry| format!("{entry:?} by {:?}", decisions(entry))).collect()
    }

    fn add(&mut self, lapi: &ScriptedLapi, random: &mut Random, seconds: i64) {
        let (origin, list) = ORIGINS[random.below(ORIGINS.len())];
        let address = address(random.below(ADDRESSES));
        self.made += 1;
        let end = Instant::now() + Duration::from_secs(seconds as u64);
        self.decisions.insert(self.made, ((list.to_owned(), address), end));
        lapi.add(LapiDecision::new(self.made, &address.to_string()).from_origin(origin).lasting(seconds));
    }

    /// Deletes one of those that last.
    fn delete(&mut self, lapi: &ScriptedLapi, random: &mut Random, is_heard: bool) {
        let lasts = Instant::now() + Duration::from_secs(60);
        let lasting: Vec<u64> =
            self.decisions.iter().filter(|(_, (_, end))| *end > lasts).map(|(id, _)| *id).collect();
        if lasting.is_empty() {
            return;
        }
        let id = lasting[random.below(lasting.len())];
        let (entry, _) = self.decisions.remove(&id).expect("it was just there");
        lapi.delete(id);
        if !is_heard {
            self.unheard.insert(entry);
        }
    }
}

/// Both families.
fn address(number: usize) -> IpAddr {
    let word = if number.is_multiple_of(3) {
        format!("2001:db8:5::{number:x}")
    } else {
        format!("192.0.2.{number}")
    };
    word.parse().expect("it is an address")
}

fn listed(net: &Net) -> BTreeSet<Entry> {
    let entries = net.filterd(["list", "--json"]).succeeds().json_lines();
    let word = |entry: &Value, field: &str| entry[field].as_str().expect("it is text").to_owned();
    let address = |entry: &Value| word(entry, "target").parse().expect("it is an address");
    entries.iter().map(|entry| (word(entry, "list"), address(entry))).collect()
}

/// Waits until what is enforced is what is decided. Two answers of LAPI suffice, beside those that were cut.
#[track_caller]
fn settle(net: &Net, lapi: &ScriptedLapi, decided: &Decided, (cut, is_killed): (usize, bool)) {
    let mut questions = 0;
    loop {
        questions += lapi.streams().len();
        let before = Instant::now();
        let listed = listed(net);
        let (required, allowed) = (decided.required(is_killed), decided.allowed(before));
        let missing: Vec<_> = required.difference(&listed).collect();
        let surplus: Vec<_> = listed.difference(&allowed).collect();
        if missing.is_empty() && surplus.is_empty() {
            break;
        }
        assert!(
            questions < QUESTIONS + cut,
            "after {questions} questions, {cut} cut, missing {:?}, surplus {:?}: {}",
            decided.explained(&missing),
            decided.explained(&surplus),
            net.filterd(["crowdsec", "status"])
        );
        std::thread::sleep(Duration::from_millis(10));
    }
    // Packets say the same.
    let before = Instant::now();
    let senders: Vec<IpAddr> = (0..ADDRESSES).map(address).collect();
    let passed = net.send_from(&senders);
    let of =
        |entries: BTreeSet<Entry>| entries.into_iter().map(|(_, address)| address).collect::<BTreeSet<_>>();
    let (required, allowed) = (of(decided.required(is_killed)), of(decided.allowed(before)));
    let wrong: Vec<_> = senders
        .iter()
        .filter(|sender| match passed.contains(*sender) {
            true => required.contains(*sender),
            false => !allowed.contains(*sender),
        })
        .collect();
    assert!(wrong.is_empty(), "the packets of {wrong:?} are judged wrongly");
}

#[test]
fn random_changes_are_enforced_within_two_polls() {
    let seed = 4343;
    println!("seed {seed}");
    let begun = Instant::now();
    let mut random = Random(seed);
    let mut net = Net::new();
    let lapi = ScriptedLapi::begin(&net);
    let config = config(&lapi.url(), &key(&net), "");
    net.start(&config);
    enforced(&net, 0);
    let mut decided = Decided::default();
    let (mut kills, mut cuts) = (0, 0);
    for _ in 0..ROUNDS {
        let is_cut = random.below(8) == 0;
        let killed_at = (random.below(6) == 0).then(|| random.below(OPERATIONS));
        if is_cut {
            lapi.answer_once(LapiAnswer::stream(&[LapiDecision::new(1_000_000, "192.0.2.1")], &[]).cut(9));
        }
        for number in 0..OPERATIONS {
            if killed_at == Some(number) {
                net.end(Signal::SIGKILL);
            }
            let is_heard = killed_at.is_none();
            match random.below(10) {
                0..4 => decided.add(&lapi, &mut random, 3600),
                4..7 => {
                    let seconds = 1 + random.below(3) as i64;
                    decided.add(&lapi, &mut random, seconds);
                }
                _ => decided.delete(&lapi, &mut random, is_heard),
            }
        }
        lapi.streams();
        if killed_at.is_some() {
            net.start(&config);
        }
        settle(&net, &lapi, &decided, (is_cut.into(), killed_at.is_some()));
        kills += usize::from(killed_at.is_some());
        cuts += usize::from(is_cut);
    }
    let (made, unheard, took) = (decided.made, decided.unheard.len(), begun.elapsed().as_millis());
    println!("{made} decisions, {kills} kills, {cuts} cut answers, {unheard} unheard deletes, {took} ms");
}
