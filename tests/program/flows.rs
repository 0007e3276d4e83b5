//! Own flows: what the egress program remembers of a frame that is sent, the judge lets a listed source answer. Both as
//! bytecode, and beside it the same code run here.

use std::cell::RefCell;
use std::collections::HashMap;

use aya::maps::{Array, HashMap as BpfHashMap, Map, MapData};
use aya::programs::{SchedClassifier, TestRun, TestRunOptions, Xdp};
use aya::{Ebpf, EbpfLoader};
use aya_obj::programs::XdpAttachType;
use filter_common::flow::{self, KEY_WORDS, Key, Memory, WORDS};
use filter_common::target::Target;
use filterd::blocklist::{Blocklist, Change, Effects, Polarity, Settings, Timestamp, Want};
use filterd::daemon::needs;
use filterd::kernel::Filter;
use filterd::kernel::broker::EGRESS;
use harness::{ATTACKER, ATTACKER6, Frame, HOST, HOST6, Home};

/// Ports of this host that begin flows over UDP, and one that does not.
const OURS: u16 = 40_000;
const SERVICE: u16 = 53;

/// What is sent, what comes in, whether it passes, and why.
type Case = (Frame, Frame, bool, &'static str);

fn to(peer: &str, protocol: u8, content: Vec<u8>) -> Frame {
    Frame::from(if peer.contains(':') { HOST6 } else { HOST }).to(peer).transport(protocol, content)
}

fn from(peer: &str, protocol: u8, content: Vec<u8>) -> Frame {
    Frame::from(peer).transport(protocol, content)
}

fn cases() -> Vec<Case> {
    let asked = |peer| to(peer, 17, datagram(OURS, 53));
    let answer = |peer| from(peer, 17, datagram(53, OURS));
    let both = |one: fn(Frame) -> Frame, other: fn(Frame) -> Frame, why| {
        [ATTACKER, ATTACKER6].map(|peer| (one(asked(peer)), other(answer(peer)), true, why))
    };
    let opening = || to(ATTACKER, 6, segment(OURS, 443, Frame::SYN));
    let mut cases = [
        both(|sent| sent, |came| came, "DNS"),
        both(|sent| sent.vlan(7), |came| came.vlan(7), "in a VLAN"),
        both(|sent| sent.vlan(7), |came| came, "the tag of the answer lies beside it"),
        both(|sent| sent, |came| came.vlan(7), "the tag of the question lay beside it"),
        both(|sent| sent.service_vlan(9).vlan(7), |came| came.service_vlan(9).vlan(7), "two tags"),
        both(
            |sent| sent.service_vlan(9).vlan(3).vlan(2).vlan(1),
            |came| came.vlan(4).vlan(3).vlan(2).vlan(1),
            "as many tags as are looked behind",
        ),
    ]
    .concat();
    let options = |frame: Frame| frame.options(10);
    let headers = |frame: Frame| frame.extension(0).extension(43).extension(60);
    cases.extend([
        (options(asked(ATTACKER)), options(answer(ATTACKER)), true, "behind all the options there can be"),
        (headers(asked(ATTACKER6)), headers(answer(ATTACKER6)), true, "behind extension headers"),
        (asked(ATTACKER), from(ATTACKER, 17, datagram(54, OURS)), false, "from another port"),
        (asked(ATTACKER), from(ATTACKER, 17, datagram(53, OURS + 1)), false, "to another port"),
        (asked(ATTACKER), from(ATTACKER, 6, segment(53, OURS, Frame::ACK)), false, "over TCP"),
        (asked(ATTACKER), answer(ATTACKER).fragment(100), true, "a later fragment of an answer"),
        (opening(), answer(ATTACKER).fragment(100), false, "a later fragment over another protocol"),
        (asked(ATTACKER).fragment(100), answer(ATTACKER), false, "a later fragment begins nothing"),
        (
            to(ATTACKER, 17, datagram(SERVICE, 53)),
            from(ATTACKER, 17, datagram(53, SERVICE)),
            false,
            "a service's",
        ),
        (opening(), from(ATTACKER, 6, segment(443, OURS, Frame::SYN | Frame::ACK)), true, "SYN and ACK"),
        (opening(), from(ATTACKER, 6, segment(443, OURS, Frame::ACK)), true, "and what follows"),
        (opening(), from(ATTACKER, 6, segment(443, OURS, Frame::SYN)), false, "a SYN is no answer"),
        (
            to(ATTACKER, 6, segment(OURS, 443, Frame::SYN | Frame::ACK)),
            from(ATTACKER, 6, segment(443, OURS, Frame::ACK)),
            false,
            "SYN and ACK begin nothing",
        ),
        (to(ATTACKER, 1, echo(8)), from(ATTACKER, 1, echo(0)), true, "a ping"),
        (to(ATTACKER, 1, echo(8)), from(ATTACKER, 1, echo(8)), false, "a ping is no answer to one"),
        (to(ATTACKER, 1, echo(0)), from(ATTACKER, 1, echo(0)), false, "an answer begins nothing"),
        (to(ATTACKER6, 58, echo(128)), from(ATTACKER6, 58, echo(129)), true, "a ping over IPv6"),
        (Frame::arp(HOST), Frame::from(ATTACKER), false, "ARP begins nothing"),
        (asked(ATTACKER).cut_at(37), answer(ATTACKER), false, "ports that are cut off"),
    ]);
    cases
}

#[test]
fn own_flow_replies_pass_in_both_builds() {
    let host = Host::new();
    let wrong = cases().into_iter().filter_map(|(sent, came, expected, why)| {
        let (sent_bytes, came_bytes) = (sent.bytes([6; 6]), came.bytes([6; 6]));
        let found = (host.lets_in(&sent_bytes, &came_bytes), natively(&sent_bytes, &came_bytes));
        (found != (expected, expected)).then(|| format!("{sent}, then {came} ({why}): {found:?}"))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The programs and maps of a filterd to which two are listed.
struct Host {
    egress: RefCell<Ebpf>,
    root: Xdp,
    flows: RefCell<BpfHashMap<MapData, [u64; KEY_WORDS], u64>>,
    _filter: Filter,
    // Dropped last: the pins.
    _home: Home,
}

impl Host {
    fn new() -> Self {
        let home = Home::new();
        let mut filter = Filter::open(home.pins()).expect("root may load programs");
        let listed = [ATTACKER, ATTACKER6].map(|peer| peer.parse::<Target>().expect("a target"));
        let want = Want::live("listed", Polarity::Block, listed.into_iter().collect());
        let mut blocklist = Blocklist::default();
        blocklist.apply(&Change::Want(want), Timestamp::from_secs(1)).expect("it is the first");
        filter.reserve(&needs::of(&blocklist), &blocklist).expect("there is room");
        let settings = Some(Settings { match_new: true, ..Settings::default() });
        let effects = Effects { settings, ..blocklist.everything() };
        filter.apply(&effects, &blocklist).expect("the verifier has nothing to say");
        let (flows, ports) = (home.pins().join("flows-1"), home.pins().join("ports-1"));
        let mut egress = EbpfLoader::new()
            .btf(None)
            .map_pin_path("FLOWS", &flows)
            .map_pin_path("PORTS", &ports)
            .load(&EGRESS)
            .expect("the same maps");
        classifier(&mut egress).load().expect("the verifier has nothing to say");
        let mut words = [0; WORDS as usize];
        words[usize::from(OURS >> 6)] = 1 << (OURS & 63);
        let ports = Map::Array(MapData::from_pin(ports).expect("it is pinned"));
        let mut ports: Array<_, [u64; WORDS as usize]> = Array::try_from(ports).expect("words");
        ports.set(0, words, 0).expect("it has one value");
        let flows = Map::LruHashMap(MapData::from_pin(flows).expect("it is pinned"));
        let root = Xdp::from_pin(home.pins().join("root"), XdpAttachType::Interface);
        Self {
            egress: RefCell::new(egress),
            root: root.expect("the root program is pinned"),
            flows: RefCell::new(BpfHashMap::try_from(flows).expect("keys and times")),
            _filter: filter,
            _home: home,
        }
    }

    /// Does the second frame pass, when the first was sent and nothing before?
    fn lets_in(&self, sent: &[u8], came: &[u8]) -> bool {
        const XDP_PASS: u32 = 2;
        let mut flows = self.flows.borrow_mut();
        let known: Vec<_> = flows.keys().flatten().collect();
        known.iter().for_each(|key| flows.remove(key).expect("it is there"));
        let options = |frame| TestRunOptions { data_in: Some(frame), ..TestRunOptions::new() };
        let mut egress = self.egress.borrow_mut();
        let goes_on = classifier(&mut egress).test_run(options(sent)).expect("the kernel runs it");
        assert_eq!(goes_on.return_value, u32::MAX, "TC_ACT_UNSPEC: whatever others have there goes on");
        self.root.test_run(options(came)).expect("the kernel runs it").return_value == XDP_PASS
    }
}

fn classifier(egress: &mut Ebpf) -> &mut SchedClassifier {
    let program = egress.program_mut("filterd_egress").expect("the object has it");
    program.try_into().expect("and it is a classifier")
}

/// The same in plain memory.
#[derive(Default)]
struct Here(RefCell<HashMap<Key, u64>>);

impl Memory for Here {
    fn last(&self, key: &Key) -> Option<u64> {
        self.0.borrow().get(key).copied()
    }

    fn note(&self, key: &Key, now: u64) {
        self.0.borrow_mut().insert(*key, now);
    }
}

fn natively(sent: &[u8], came: &[u8]) -> bool {
    let flows = Here::default();
    let now = || 1;
    flow::record(&sent, &flows, |port| port == OURS, now);
    flow::is_reply(&came, &flows, now)
}

fn datagram(source: u16, destination: u16) -> Vec<u8> {
    [source.to_be_bytes(), destination.to_be_bytes(), [0, 8], [0, 0]].concat()
}

fn segment(source: u16, destination: u16, flags: u8) -> Vec<u8> {
    let mut segment = datagram(source, destination);
    segment.extend([0, 0, 0, 0, 5 << 4, flags, 0, 0, 0, 0, 0, 0]);
    segment
}

fn echo(kind: u8) -> Vec<u8> {
    vec![kind, 0, 0, 0, 0, 9, 0, 1]
}
