//! Imports more than a thousand odd inputs: samples of real inputs, damaged in many ways. An import and a
//! list must never block an address that a sample allows, and must count each line that they cannot read.

use std::path::Path;

use filter_common::target::{Span, Target};

use super::reading::ImportReader;
use super::sets::SetChoice;
use super::sifting::{ImportOptions, ImportSelection, InlineEntries};
use crate::source::format::ReadOptions;
use crate::source::limits::{Limits, ListVerdict};
use crate::source::{SpecialRanges, list};

/// Samples allow addresses of this prefix only.
const ALLOWED: &str = "45.77.0.0/16";

/// The number of mutations of each sample.
const ROUNDS: u64 = 80;

/// Lines that are not valid in any format.
const JUNK: [&str; 12] = [
    "<html><body>504 Gateway Time-out</body></html>",
    "accept",
    "-A INPUT -s 45.77.0.9/32 -j ACCEPT",
    "allow 45.77.0.9;",
    "ALL: 45.77.0.9",
    "!45.77.0.9",
    "45.77.0.9 allow",
    "tcp|in|d=22|s=45.77.0.9",
    "Require ip 45.77.0.9",
    "\u{0}\u{1}\u{2}",
    "203.0.113.1:443",
    "45.77.0.0.9",
];

fn samples() -> Vec<(&'static str, String)> {
    let rule = |set: &str, verdict: &str| {
        format!(
            r#"{{"rule": {{"family": "inet", "table": "fw", "chain": "in", "expr": [{{"match": {{"op": "==", "left": {{"payload": {{"protocol": "ip", "field": "saddr"}}}}, "right": "@{set}"}}}}, {{"{verdict}": null}}]}}}}"#
        )
    };
    let set = |name: &str, address: &str| {
        format!(
            r#"{{"set": {{"family": "inet", "name": "{name}", "table": "fw", "type": "ipv4_addr", "elem": ["{address}"]}}}}"#
        )
    };
    let nft =
        [set("bad", "45.66.0.1"), set("peers", "45.77.0.1"), rule("bad", "drop"), rule("peers", "accept")];
    let ours = |allow: &str| {
        format!(
            "{{\"target\":\"45.66.0.2\",\"list\":\"ssh\",\"since\":1}}\n{{\"target\":\"45.77.0.2\",\"list\":\"x\",{allow}\"since\":1}}\n"
        )
    };
    let texts = [
        ("nft ruleset", format!("{{\"nftables\": [{}]}}\n", nft.join(", "))),
        (
            "nft sets of an export",
            format!("{{\"nftables\": [{}, {}]}}\n", set("ssh_4", "45.66.0.1"), set("good.allow_4", "45.77.0.1")),
        ),
        (
            "ipset save",
            "create bad hash:net family inet\nadd bad 45.66.0.1\nadd bad 45.66.2.0/24\n\
             create whitelist hash:ip family inet\nadd whitelist 45.77.0.1\nadd whitelist 45.77.0.2\n\
             create nets hash:net family inet\nadd nets 45.77.0.5 nomatch\nadd nets 45.66.3.0/24\n"
                .to_owned(),
        ),
        (
            "json export",
            format!("{{\"version\":1,\"filterd\":\"export\"}}\n{}{{\"entries\":2}}\n", ours("\"allow\":true,")),
        ),
        (
            "plain export",
            "# filterd export: `filterd import FILE` brings back list, end and note\n\
             45.66.0.3            # filterd list=ssh note=door\n\
             #allow 45.77.0.3            # filterd list=good\n# end of filterd export\n"
                .to_owned(),
        ),
        (
            "ipset export",
            "# filterd export: `ipset restore -exist` makes or fills these sets\n\
             create ssh_4 hash:net family inet maxelem 65536 timeout 0 comment\n\
             create good.allow_4 hash:net family inet maxelem 65536 timeout 0 comment\n\
             add ssh_4 45.66.0.4\nadd good.allow_4 45.77.0.4\n# end of filterd export\n"
                .to_owned(),
        ),
        (
            "nft export",
            "# filterd export: `nft -f FILE` makes or refills these sets; rules are yours to write\n\
             add table inet filterd_export\nadd set inet filterd_export ssh_4 { type ipv4_addr; flags interval, timeout; }\n\
             add element inet filterd_export ssh_4 {\n\t45.66.0.5,\n}\n\
             add element inet filterd_export good.allow_4 {\n\t45.77.0.5,\n}\n# end of filterd export\n"
                .to_owned(),
        ),
        ("plain", "# 45.77.0.1 is ours\n45.66.0.6\n45.66.1.0/24 ; a net\n45.66.2.1-45.66.2.9\n".to_owned()),
        ("csv", "ip,action\n45.66.0.5,deny\n45.66.0.6,deny\n45.66.0.7,deny\n45.77.0.7,allow\n\"45.66.0.8\",deny\n45.77.0.8,\"Whitelist\"\n".to_owned()),
        (
            "json lines",
            "{\"ip\":\"45.66.0.9\",\"action\":\"block\"}\n{\"ip\":\"45.77.0.9\",\"action\":\"allow\"}\n".to_owned(),
        ),
        ("csv with a switch", "ip,allow\n45.66.0.15,0\n45.66.0.14,no\n45.66.0.13,false\n45.66.0.16,no\n45.77.0.19,true\n45.66.0.17,0\n45.77.0.20,yes\n".to_owned()),
        (
            "json with a switch",
            "{\"ip\":\"45.66.0.18\",\"allow\":false}\n{\"ip\":\"45.77.0.21\",\"allow\":true}\n{\"ip\":\"45.77.0.22\",\"Action\":\"Allow\"}\n".to_owned(),
        ),
        ("ipsum", "# a score\n45.66.0.10\t5\n45.66.0.11\t3\n".to_owned()),
        ("csf.deny", "45.66.0.12 # lfd\ntcp|in|d=22|s=45.77.0.12\nInclude /etc/csf/other\n45.66.0.13\n".to_owned()),
        (
            "iptables-save",
            "*filter\n:INPUT ACCEPT [0:0]\n-A INPUT -s 45.77.0.13/32 -j ACCEPT\n-A INPUT -s 45.66.0.14/32 -j DROP\nCOMMIT\n"
                .to_owned(),
        ),
        ("nginx", "allow 45.77.0.14;\ndeny 45.66.0.15;\ndeny all;\n".to_owned()),
        ("hosts.allow", "sshd: 45.77.0.15\nALL: 45.77.0.16\n".to_owned()),
        ("error page", "{\"status\":\"error\",\"ip\":\"45.77.0.17\"}\n".to_owned()),
        ("nft text", "table inet fw {\n\tset peers {\n\t\ttype ipv4_addr\n\t\telements = { 45.77.0.18 }\n\t}\n}\n".to_owned()),
    ];
    texts.to_vec()
}

/// Pseudo-random numbers that are the same in each run (splitmix64).
struct RandomNumbers(u64);

impl RandomNumbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((number ^ (number >> 31)) % end.max(1) as u64).expect("it is below a usize")
    }
}

/// Damages a text without removing the parts that say what is allowed.
fn spoil(text: &str, numbers: &mut RandomNumbers) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> = text.lines().map(|line| line.as_bytes().to_vec()).collect();
    let mut spoilt = |numbers: &mut RandomNumbers| {
        let at = numbers.below(lines.len());
        let says_allow = |line: &[u8]| {
            let line = String::from_utf8_lossy(line).to_lowercase();
            ["allow", "white", "nomatch", "accept", "action", "filterd", "type", "create"]
                .iter()
                .any(|word| line.contains(word))
        };
        match numbers.below(7) {
            0 => lines.insert(at, JUNK[numbers.below(JUNK.len())].into()),
            1 => lines.insert(at, lines[at].clone()),
            2 if lines.len() > 1 && !says_allow(&lines[at]) => drop(lines.remove(at)),
            3 => lines[at].extend([b' ', b'\t', b'\r']),
            4 => lines.insert(at, vec![b'1'; 5000]),
            // Damages a digit of an address, not one of a name.
            5 if !lines[at].starts_with(b"add element") => {
                if let Some(place) = lines[at].iter().rposition(u8::is_ascii_digit) {
                    lines[at][place] = b"0123456789x.:/ "[numbers.below(15)];
                }
            }
            _ => lines.insert(at, "# a comment".into()),
        }
    };
    (0..1 + numbers.below(3)).for_each(|_| spoilt(numbers));
    let end = if numbers.below(4) == 0 { &b"\r\n"[..] } else { b"\n" };
    let mut bytes = if numbers.below(8) == 0 { "\u{feff}".as_bytes().to_vec() } else { Vec::new() };
    bytes.extend(lines.iter().flat_map(|line| line.iter().chain(end)));
    if numbers.below(3) == 0 {
        bytes.truncate(numbers.below(bytes.len()));
        let last = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        // Junk that was cut may be an address that no sample allows.
        if JUNK.iter().any(|junk| junk.as_bytes().starts_with(&bytes[last..])) {
            bytes.truncate(last);
        }
    }
    bytes
}

fn is_allowed(target: &Target) -> bool {
    let allowed: Span = ALLOWED.parse().expect("it is a prefix");
    allowed.into_iter().any(|allowed| allowed.covers(target) || target.covers(&allowed))
}

/// The targets that an import of this input would block, and the number of rejected lines. None if the
/// whole input is refused.
fn import(bytes: &[u8]) -> Option<(Vec<Target>, usize)> {
    let mut reading = ImportReader::begin(bytes, None).ok()?;
    reading.choose(&SetChoice::default()).ok()?;
    let asked = ImportOptions {
        list: None,
        until: None,
        special: SpecialRanges::EXCLUDED,
        now: 1000,
        inline: InlineEntries::LeaveOut,
    };
    let mut sifting = ImportSelection::new(asked, &[]);
    let (mut blocked, mut rejected) = (Vec::new(), 0);
    while let Some(row) = reading.row().expect("memory can be read") {
        match row.map_err(|rejected| rejected.fault).and_then(|(_, item)| sifting.sift(item)) {
            Ok(Some((to, targets, _))) if !to.allow => blocked.extend(targets),
            Ok(_) => {}
            Err(_) => rejected += 1,
        }
    }
    // If the input is cut, an import changes nothing.
    let is_cut = reading.can_allow && reading.fault().is_some();
    (!is_cut).then_some((blocked, rejected))
}

#[test]
fn odd_inputs_never_turn_allow_into_block() {
    let mut numbers = RandomNumbers(40);
    let (mut tried, mut read) = (0, 0);
    for (name, text) in samples() {
        for round in 0..=ROUNDS {
            // An additional line would make it no error page.
            if round > 0 && name == "error page" {
                continue;
            }
            let bytes = if round == 0 { text.clone().into_bytes() } else { spoil(&text, &mut numbers) };
            let shown = String::from_utf8_lossy(&bytes);
            tried += 1;
            if let Some((blocked, _)) = import(&bytes) {
                read += 1;
                let wrong: Vec<_> = blocked.iter().filter(|target| is_allowed(target)).collect();
                assert!(wrong.is_empty(), "import of {name} would block {wrong:?}:\n{shown}");
            }
            let list = list::parse(Path::new(name), &bytes[..], 1000, &ReadOptions::default())
                .expect("memory can be read");
            assert!(list.lines >= list.rejected_count && list.rejected_count >= list.rejected.len() as u64);
            let is_held_back =
                matches!(Limits::default().judge(list.seen(), None, false), ListVerdict::HoldBack(_));
            let wrong: Vec<_> = list.targets.iter().filter(is_allowed).collect();
            // A list does not judge the names of sets: see `docs/reference/list-formats.md`.
            if !is_held_back && name != "ipset save" {
                assert!(wrong.is_empty(), "list of {name} would block {wrong:?}:\n{shown}");
            }
        }
    }
    assert!(tried > 1000 && read > 500, "tried {tried}, of which {read} were read");
}

/// Each line of junk adds one rejected line, in each format that is read line by line.
#[test]
fn each_junk_line_is_counted() {
    let of_lines = [
        "ipset save",
        "plain export",
        "plain",
        "csv",
        "json lines",
        "ipsum",
        "csf.deny",
        "ipset export",
        "nft export",
    ];
    for (name, text) in samples().into_iter().filter(|(name, _)| of_lines.contains(name)) {
        let (_, before) = import(text.as_bytes()).expect("the sample is read");
        for junk in JUNK.iter().filter(|junk| !junk.starts_with("tcp|")) {
            for junks in [1, 2] {
                let mut lines: Vec<_> = text.lines().collect();
                let last = lines.len() - 1;
                (0..junks).for_each(|_| lines.insert(last, junk));
                let Some((_, after)) = import((lines.join("\n") + "\n").as_bytes()) else { continue };
                // With more junk than content, it may be read as another format that rejects even more
                // lines.
                assert!(after >= before + junks, "{name} with {junk}: {after}");
            }
        }
    }
}
