//! Tests with samples in the publishers' formats, both whole and damaged. `outcomes.txt` has the result of
//! each, for people to read.

use std::fmt::Write as _;
use std::path::Path;

use super::*;
use crate::source::limits::{Limits, ListVerdict, SizeBefore};
use crate::source::list;
use crate::source::special::SpecialRanges;

macro_rules! samples {
    ($($name:literal)*) => { [$(($name, include_str!(concat!("tests/samples/", $name)))),*] };
}

const SAMPLES: [(&str, &str); 14] = samples! {
    "plain.txt" "firehol.netset" "spamhaus.txt" "spamhaus.json" "ipsum.txt" "feodo.csv" "two-columns.csv" "dshield.txt"
    "ranges.txt" "ipset.save" "nft.json" "csf.deny" "csf.allow" "hosts"
};

const HTML: &str = "<!DOCTYPE html>\n<html><head><title>504 Gateway Time-out</title></head>\n<body>\n<h1>504</h1>\n</body></html>\n";

/// The ways to damage a list.
fn spoilt(text: &str) -> Vec<(&'static str, Vec<u8>)> {
    let middle = text[..text.len() / 2].rfind('\n').map_or(0, |at| at + 1);
    let (before, after) = text.split_at(middle);
    let within = |more: &str| format!("{before}{more}{after}").into_bytes();
    let other = |character: char| match character {
        '\t' => ',',
        ',' | ' ' => '\t',
        other => other,
    };
    let utf16 = text.encode_utf16().flat_map(u16::to_le_bytes);
    let counted =
        text.replacen("\"records\":4", "\"records\":5", 1).replacen("], \"handle\"", ", \"handle\"", 1);
    vec![
        ("whole", text.into()),
        ("cut off", text[..text.len() * 2 / 3].into()),
        ("HTML in the middle", within(HTML)),
        ("HTML instead", HTML.into()),
        ("other separators", text.chars().map(other).collect::<String>().into()),
        ("UTF-16", [0xff, 0xfe].into_iter().chain(utf16).collect()),
        ("BOM", format!("\u{feff}{text}").into()),
        ("CRLF", text.replace('\n', "\r\n").into()),
        ("NULs", text.replace("203", "2\u{0}3").into()),
        ("a giant line", within(&("1".repeat(1 << 20) + "\n"))),
        ("twice", text.repeat(2).into()),
        (
            "a wide range",
            text.replacen("198.51.100.0", "0.0.0.0", 1).replacen("0.0.0.0/24", "0.0.0.0/0", 1).into(),
        ),
        ("wrong count or brackets", counted.into()),
        ("empty", Vec::new()),
    ]
}

fn outcome(name: &str, text: &[u8], how: &ReadOptions) -> String {
    let list = list::parse(Path::new(name), text, 1000, how).expect("memory can be read");
    let before = Some(SizeBefore { entries: 1, ..SizeBefore::default() });
    let verdict = match Limits::default().judge(list.seen(), before, false) {
        ListVerdict::Accept => "believed".to_owned(),
        ListVerdict::HoldBack(doubt) | ListVerdict::TakePart(doubt) => {
            format!("HELD BACK, it {doubt}{}", list.described(doubt, false))
        }
    };
    let mut told = format!("{}, {verdict}\n", list.format);
    let targets: Vec<_> = list.targets.iter().map(|target| target.to_string()).collect();
    writeln!(told, "    {} of {} lines: {}", targets.len(), list.lines, targets.join(" ")).expect("a string");
    if list.special > 0 {
        writeln!(told, "    {} special", list.special).expect("a string takes it");
    }
    list.rejected.iter().take(3).for_each(|line| writeln!(told, "    {line}").expect("a string takes it"));
    told
}

#[test]
fn samples_match_outcomes_file() {
    let mut told = String::new();
    for (name, text) in SAMPLES {
        for (way, spoilt) in spoilt(text) {
            write!(told, "{name}, {way}: {}", outcome(name, &spoilt, &ReadOptions::default()))
                .expect("a string takes it");
        }
        told.push('\n');
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/source/format/tests/outcomes.txt");
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    if told != known {
        if std::env::var_os("FILTERD_WRITE_OUTCOMES").is_some() {
            std::fs::write(&path, &told).unwrap();
        }
        let differ =
            told.lines().zip(known.lines()).position(|(now, before)| now != before).unwrap_or_default();
        let line = |text: &str| text.lines().nth(differ).unwrap_or_default().to_owned();
        panic!(
            "line {}: {:?} was {:?} (FILTERD_WRITE_OUTCOMES=1 writes it: read it)",
            differ + 1,
            line(&told),
            line(&known)
        );
    }
}

fn targets(text: &str, how: &ReadOptions) -> (Vec<String>, Vec<String>) {
    let list = list::parse(Path::new("l"), text.as_bytes(), 1000, how).expect("memory can be read");
    let rejected = list.rejected.iter().map(|line| line.reason.to_string()).collect();
    (list.targets.iter().map(|target| target.to_string()).collect(), rejected)
}

fn sample(name: &str) -> &'static str {
    SAMPLES.iter().find(|(known, _)| *known == name).expect("it is one of them").1
}

/// Fails if `part` blocks an address that `whole` does not.
fn is_within(part: &list::ListFile, whole: &list::ListFile) -> Result<(), String> {
    let all: Vec<_> = whole.targets.iter().collect();
    let outside = part.targets.iter().find(|target| !all.iter().any(|wide| wide.covers(target)));
    outside.map_or(Ok(()), |target| Err(target.to_string()))
}

/// Half a line may be another address. The last line is therefore used only if it is known to be complete (by
/// `growing`, or by the length that a server states). All lines before it keep their meaning.
#[test]
fn truncated_list_blocks_no_other_addresses() {
    for (name, text) in SAMPLES {
        let read = |text: &[u8]| {
            list::parse(Path::new(name), text, 1000, &ReadOptions::default()).expect("it is memory")
        };
        let whole = read(text.as_bytes());
        for end in 0..text.len() {
            let cut = &text.as_bytes()[..end];
            read(cut);
            let lines = cut.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            let part = read(&cut[..lines]);
            // The entries that an exception applies to are before it, so a truncated list cannot show the
            // exception.
            if name != "ipset.save" && part.lack.is_none() {
                is_within(&part, &whole).unwrap_or_else(|target| panic!("{name} up to {end}: {target}"));
            }
        }
    }
}

/// Line ends of old Macs: the file is a single line, which is reported as such, or has a format that allows
/// any blanks.
#[test]
fn cr_line_ends_block_no_other_addresses() {
    for (name, text) in SAMPLES {
        let read = |text: &str| {
            list::parse(Path::new(name), text.as_bytes(), 1000, &ReadOptions::default())
                .expect("it is memory")
        };
        let (whole, returns) = (read(text), read(&text.replace('\n', "\r")));
        is_within(&returns, &whole).unwrap_or_else(|target| panic!("{name}: {target}"));
        let last = read(&format!("{}\r", text.trim_end()));
        is_within(&last, &whole).unwrap_or_else(|target| panic!("{name} with CR at its end: {target}"));
    }
}

#[test]
fn targets_below_min_score_are_left_out() {
    let taken = |least| {
        let how = ReadOptions { min_score: Some(least), ..ReadOptions::default() };
        targets(sample("ipsum.txt"), &how)
    };
    assert_eq!(taken(0).0.len(), 6);
    assert_eq!(taken(5).0, ["203.0.113.7", "203.0.113.8", "203.0.113.9"]);
    assert_eq!(taken(10), (vec![], vec![]), "that is no slip of the list's");
    let (taken, rejected) = targets(
        "203.0.113.7\n203.0.113.8 x\n203.0.113.9\t7\n",
        &ReadOptions { min_score: Some(3), ..ReadOptions::default() },
    );
    assert_eq!((taken.len(), rejected.len()), (1, 2));
    assert!(rejected[0].contains("`min_score`"), "{rejected:?}");
}

#[test]
fn column_is_found_by_number_or_name() {
    let by = |column| {
        targets(sample("two-columns.csv"), &ReadOptions { column: Some(column), ..ReadOptions::default() }).0
    };
    assert_eq!(by(Column::Number(2)), ["198.51.100.0/24"]);
    assert_eq!(by(Column::Name("start".into())), ["192.0.2.1", "192.0.2.2", "192.0.2.3"]);
    assert!(by(Column::Name("port".into())).is_empty() && by(Column::Number(9)).is_empty());
    let feodo = |column| {
        targets(sample("feodo.csv"), &ReadOptions { column: Some(column), ..ReadOptions::default() }).0.len()
    };
    assert_eq!(
        (feodo(Column::Name("dst_ip".into())), feodo(Column::Number(2))),
        (4, 4),
        "behind a commented header"
    );
    assert_eq!(feodo(Column::Name("dst_port".into())), 0);
    let (semicolons, _) =
        targets("seen;source\n2026;203.0.113.7\n2026;203.0.113.8\n", &ReadOptions::default());
    assert_eq!(semicolons.len(), 2);
    let named = ReadOptions { format: Some(Format::Csv), ..ReadOptions::default() };
    assert_eq!(
        targets("x\t203.0.113.7\ty\n", &named).0,
        ["203.0.113.7"],
        "tabs, if somebody says that it is a table"
    );
    assert_eq!(
        targets(
            "x,203.0.113.8\nx,\"203.0.113.7\n",
            &ReadOptions { column: Some(Column::Number(2)), ..ReadOptions::default() }
        )
        .1
        .len(),
        1
    );
}

#[test]
fn ambiguous_columns_need_a_known_name() {
    let (none, rejected) = targets("a,b\n192.0.2.1,198.51.100.1\n", &ReadOptions::default());
    assert!(none.is_empty() && rejected[0].contains("`column:`"), "{rejected:?}");
    assert_eq!(
        targets("seen_by,src_ip\n192.0.2.1,198.51.100.1\n", &ReadOptions::default()).0,
        ["198.51.100.1"]
    );
}

#[test]
fn hosts_file_blocks_no_loopback_entries() {
    let how = ReadOptions::recognised(SpecialRanges::INCLUDED);
    let (taken, rejected) = targets(sample("hosts"), &how);
    assert_eq!((taken.len(), rejected.len()), (0, 5), "{taken:?}");
}

#[test]
fn a_named_format_is_not_looked_for() {
    let how = ReadOptions { format: Some(Format::Plain), ..ReadOptions::default() };
    assert_eq!(targets(sample("feodo.csv"), &how).0, Vec::<String>::new());
    let wrong = ReadOptions { format: Some(Format::Nft), ..ReadOptions::default() };
    let list = list::parse(Path::new("l"), sample("plain.txt").as_bytes(), 1000, &wrong).unwrap();
    assert_eq!((list.targets.len(), list.lack), (0, Some(Lack::Broken { line: 1 })));
}

#[test]
fn json_key_is_found_by_name() {
    let text = "{\"a\":\"192.0.2.1\",\"ip\":\"198.51.100.1\",\"n\":{\"ip\":[1,{}]}}\n{\"value\":\"x\",\"ip\":\"198.51.100.2\"}\n{\"ip\":7}\n";
    assert_eq!(targets(text, &ReadOptions::default()).0, ["198.51.100.1", "198.51.100.2"]);
    assert_eq!(
        targets(text, &ReadOptions { column: Some(Column::Name("a".into())), ..ReadOptions::default() }).0,
        ["192.0.2.1"]
    );
}

#[test]
fn nft_sets_are_streamed_up_to_limit() {
    let elements: Vec<_> = (0..5000).map(|n| format!("\"198.18.{}.{}\"", n / 250, n % 250)).collect();
    let text = format!(
        "{{\"nftables\":[{{\"set\":{{\"type\":\"ipv4_addr\",\"elem\":[{}]}}}}]}}",
        elements.join(",")
    );
    let list = |most| list::parse(Path::new("l"), text.as_bytes(), most, &ReadOptions::default()).unwrap();
    assert_eq!((list(5000).targets.len(), list(5000).is_cut), (5000, false));
    assert_eq!((list(1000).targets.len(), list(1000).is_cut), (1000, true));
    let deep = format!("{{\"nftables\":[{}", "[".repeat(1 << 20));
    assert_eq!(
        list::parse(Path::new("l"), deep.as_bytes(), 9, &ReadOptions::default()).unwrap().lack,
        Some(Lack::End)
    );
}

#[test]
fn folder_files_have_separate_formats() {
    use crate::source::parts;
    let files = ["feodo.csv", "ipset.save", "plain.txt"];
    let mut stream = Vec::new();
    files.iter().for_each(|name| stream.extend([parts::before(name), sample(name).into()].concat()));
    stream.extend([parts::before("x.txt"), b"rubbish\n".to_vec()].concat());
    let list = list::parse(Path::new("/lists"), &stream[..], 1000, &ReadOptions::default()).unwrap();
    let alone: std::collections::BTreeSet<_> =
        files.iter().flat_map(|name| targets(sample(name), &ReadOptions::default()).0).collect();
    let together: std::collections::BTreeSet<_> =
        list.targets.iter().map(|target| target.to_string()).collect();
    assert_eq!(together, alone);
    let last = list.rejected.last().unwrap().to_string();
    assert!(last.starts_with("/lists/x.txt:1: `rubbish`"), "{last}");
}
