//! Tests with list files as they occur in practice.

use std::io;

use proptest::prelude::*;

use filter_common::target::Span;

use super::super::{RejectReason, SpecialRanges};
use super::*;

fn list(text: impl AsRef<[u8]>) -> ListFile {
    parse(Path::new("drop.txt"), text.as_ref(), u64::MAX, &ReadOptions::recognised(SpecialRanges::INCLUDED))
        .expect("memory can be read")
}

fn targets(text: &str) -> Vec<String> {
    list(text).targets.iter().map(|target| target.to_string()).collect()
}

fn looks(text: impl AsRef<[u8]>) -> String {
    list(text).looks.into_owned()
}

#[test]
fn special_ranges_are_left_out_by_default() {
    let text = b"203.0.113.7\n10.0.0.1\n8.0.0.0/6\nfe80::/64\nnonsense\n";
    let special = SpecialRanges { wide: true, ..SpecialRanges::EXCLUDED };
    let left = parse(Path::new("drop.txt"), &text[..], u64::MAX, &ReadOptions::recognised(special)).unwrap();
    let told: Vec<_> = left.targets.iter().map(|target| target.to_string()).collect();
    assert_eq!(told, ["203.0.113.7", "8.0.0.0/7", "11.0.0.0/8"]);
    assert_eq!((left.lines, left.rejected_count, left.special), (5, 1, 3));
    let meant = list(text);
    assert_eq!((meant.targets.len(), meant.special), (4, 0));
    let nothing =
        parse(Path::new("own.txt"), &b"192.168.0.0/16\n"[..], u64::MAX, &ReadOptions::default()).unwrap();
    assert_eq!(
        (nothing.targets.len(), &*nothing.looks),
        (0, ""),
        "it is a list, though nothing is left of it"
    );
}

/// A line that covers half the internet is a mistake or an attack. A range that is special as a whole is
/// neither.
#[test]
fn wide_prefixes_are_rejected_by_default() {
    let text = "203.0.113.7\n0.0.0.0/0\n::/0\n6.0.0.0/7\n1.0.0.0-9.0.0.0\n224.0.0.0/3\nfc00::/7\n8.0.0.0/8\n2001::/16\n";
    let told = |special| {
        let list = parse(Path::new("drop.txt"), text.as_bytes(), u64::MAX, &ReadOptions::recognised(special))
            .unwrap();
        let rejected: Vec<_> = list.rejected.iter().map(|line| line.text.clone()).collect();
        (list.targets.iter().map(|target| target.to_string()).collect::<Vec<_>>(), rejected)
    };
    let wide = ["0.0.0.0/0", "::/0", "6.0.0.0/7", "1.0.0.0-9.0.0.0"].map(str::to_owned);
    let (left, rejected) = told(SpecialRanges::EXCLUDED);
    assert_eq!((left.len(), rejected.as_slice()), (3, wide.as_slice()), "{left:?}");
    let (left, rejected) = told(SpecialRanges { included: true, wide: false });
    assert_eq!((left.len(), rejected.as_slice()), (5, wide.as_slice()), "{left:?}");
    assert!(told(SpecialRanges::INCLUDED).1.is_empty());
    let list = parse(Path::new("drop.txt"), text.as_bytes(), u64::MAX, &ReadOptions::default()).unwrap();
    assert!(list.rejected[0].to_string().contains("`include_wide: true`"), "{}", list.rejected[0]);
}

#[test]
fn every_kind_of_target_is_accepted() {
    let text = "203.0.113.7\n198.51.100.0/24\n10.0.0.1-10.0.0.2\n2001:db8::1\n2001:db8:bad::/48\n";
    let expected =
        ["10.0.0.1", "10.0.0.2", "203.0.113.7", "198.51.100.0/24", "2001:db8::1", "2001:db8:bad::/48"];
    assert_eq!(targets(text), expected);
}

#[test]
fn comments_blanks_and_crlf_are_ignored() {
    let text = "\u{feff}203.0.113.1\r\n# a comment\n\n; another\n  \t\r\n1.10.16.0/20 ; SBL256894\n\
                \t203.0.113.2   # why\r\n203.0.113.3#why\r\n 203.0.113.4 \n10.0.0.0 - 10.0.0.3";
    let list = list(text);
    assert_eq!(list.rejected, []);
    assert_eq!(list.targets.addresses.len(), 4);
    assert_eq!(list.targets.others.len(), 2);
}

#[test]
fn repeated_target_counts_once() {
    assert_eq!(targets("10.0.0.1\n10.0.0.1/32\n10.0.0.1-10.0.0.1\n"), ["10.0.0.1"]);
}

#[test]
fn invalid_line_is_reported_and_others_count() {
    let list =
        list("203.0.113.7\nexample.com\n10.0.0.1/8\n203.0.113.8 2024-01-01\n203.0.113.9,1\n\n203.0.113.10\n");
    assert_eq!(list.targets.len(), 2);
    assert_eq!(list.rejected_count, 4);
    let told: Vec<_> = list.rejected.iter().map(ToString::to_string).collect();
    let expected = [
        r#"drop.txt:2: `example.com` is a host name, not an address: look it up and write its addresses"#,
        r#"drop.txt:3: `10.0.0.1/8` has host bits set: did you mean 10.0.0.0/8 or 10.0.0.1?"#,
        r#"drop.txt:4: `203.0.113.8 2024-01-01` has text after its target: start comments with #"#,
        r#"drop.txt:5: `203.0.113.9,1` has text after its target: start comments with #"#,
    ];
    assert_eq!(told, expected);
}

#[test]
fn hundred_rejected_lines_are_kept() {
    let list = list(format!("{}203.0.113.7\n", "rubbish\n".repeat(1000)));
    assert_eq!((list.rejected.len(), list.rejected_count, list.targets.len()), (100, 1000, 1));
}

#[test]
fn an_endless_line_is_one_rejected_line() {
    let endless = io::repeat(b'1').take(5_000_000).chain(&b"\n203.0.113.7\n"[..]);
    let list =
        parse(Path::new("drop.txt"), endless, u64::MAX, &ReadOptions::recognised(SpecialRanges::INCLUDED))
            .unwrap();
    assert_eq!(list.targets.len(), 1);
    assert_eq!(list.rejected.len(), 1);
    assert_eq!((list.rejected[0].line, list.rejected[0].reason), (1, RejectReason::TooLong));
    assert_eq!(list.rejected[0].text.chars().count(), 61);
}

#[test]
fn a_long_comment_is_still_a_comment() {
    let long = "x".repeat(10_000);
    let list = list(format!("# {long}\n203.0.113.7 # {long}\n"));
    assert_eq!((list.targets.len(), list.rejected_count), (1, 0));
}

#[test]
fn a_list_may_be_empty() {
    assert_eq!(list(""), ListFile::default());
    let nothing = ListFile { beginning: "`# nothing today`".to_owned(), ..ListFile::default() };
    assert_eq!(list("# nothing today\n\n"), nothing);
}

#[test]
fn beginning_and_end_of_file_are_recorded() {
    let page = list("<!DOCTYPE html>\n  <p>\x1b[2J203.0.113.7");
    assert_eq!(page.page, Some(ErrorPage::Markup));
    assert_eq!(page.beginning, "`<!DOCTYPE html> <p>\\u{1b}[2J203.0.113.7`");
    for (text, has_open_end) in [
        ("203.0.113.7\n203.0.113.", true),
        ("203.0.113.7\r\n", false),
        ("{\"cidr\":\"203.0.113.0/24\"}", false),
        ("# nothing", true),
    ] {
        assert_eq!(list(text).has_open_end, has_open_end, "{text:?}");
    }
    let long: String =
        (0..20_000).map(|number| format!("203.0.{}.{}\n", number >> 8, number & 255)).collect();
    assert!(!list(&long).has_open_end && list(long.trim_end()).has_open_end);
}

#[test]
fn file_without_targets_gets_a_guess() {
    assert_eq!(looks("<!DOCTYPE html>\n<html>"), ": it looks like HTML, so the download probably failed");
    assert!(looks("{\n\"cidr\":\"1.10.16.0/20\"\n}").contains("looks like JSON, of which only JSON lines"));
    assert!(looks([0x1f, 0x8b, 8, 0]).contains("looks compressed"));
    assert!(looks(b"\xff\xfe1\0.\0").contains("looks like UTF-16"));
    assert!(looks(b"\0\0\0\0").ends_with("looks binary"));
    assert_eq!(looks("{\"ip\":\"rubbish\"}"), " (read as json: an object a line)");
    assert_eq!([looks("rubbish"), looks("<html>\n203.0.113.7")], ["", ""]);
}

#[test]
fn reading_stops_at_limit_of_distinct_targets() {
    let cut = |text: &str, most| {
        let list = parse(
            Path::new("drop.txt"),
            text.as_bytes(),
            most,
            &ReadOptions::recognised(SpecialRanges::INCLUDED),
        )
        .unwrap();
        (list.targets.len(), list.is_cut)
    };
    let twice = "10.0.0.1\n10.0.0.2\n10.0.0.3\n10.0.0.4\n".repeat(50);
    assert_eq!(cut(&twice, 4), (4, false));
    assert_eq!(cut(&twice, 3), (3, true));
    assert_eq!(cut("::1\n10.0.0.1\n2001:db8::/64\n10.0.0.0/24\n", 3), (3, true));
    assert_eq!(cut("", 0), (0, false));
}

#[test]
fn large_ranges_respect_the_memory_limit() {
    // Each line of 80 bytes makes 254 targets.
    let line = |block: u32| format!("2001:db8:{block:x}::1-2001:db8:{block:x}:ffff:ffff:ffff:ffff:fffe\n");
    let bomb: String = (0..1000).map(line).collect();
    let list = parse(
        Path::new("drop.txt"),
        bomb.as_bytes(),
        1000,
        &ReadOptions::recognised(SpecialRanges::INCLUDED),
    )
    .unwrap();
    assert!(list.is_cut && list.lines < 10, "{} lines", list.lines);
    assert_eq!(list.targets.len(), 1000);
    assert!(list.targets.others.capacity() < 4000, "room for {}", list.targets.others.capacity());
}

#[test]
fn files_that_cannot_be_read_say_why() {
    let folder = tempfile::tempdir().unwrap();
    let read = |path: &Path| read(path, &Limits::default(), &ReadOptions::default(), ReadProgress::default());
    assert!(read(&folder.path().join("no.txt")).unwrap_err().to_string().ends_with("no such file"));
    std::os::unix::fs::symlink("/nowhere", folder.path().join("link.txt")).unwrap();
    let within = read(folder.path()).unwrap_err();
    assert!(within.to_string().ends_with("link.txt: cannot be read: its target is missing"), "{within}");
}

#[test]
fn a_file_is_read_from_disk() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drop.txt");
    std::fs::write(&path, "203.0.113.7\n").unwrap();
    assert_eq!(
        read(&path, &Limits::default(), &ReadOptions::default(), ReadProgress::default())
            .unwrap()
            .targets
            .addresses,
        [0xcb00_7107]
    );
}

/// The content of a line without its comment.
fn content(line: &str) -> &str {
    line.split(['#', ';']).next().unwrap_or("").trim()
}

proptest! {
    #[test]
    fn addresses_read_back_sorted_and_distinct(mut addresses: Vec<u32>) {
        let line = |address: &u32| format!("{}\n", std::net::Ipv4Addr::from_bits(*address));
        let list = list(addresses.iter().map(line).collect::<String>());
        addresses.sort_unstable();
        addresses.dedup();
        prop_assert_eq!(list.targets.addresses, addresses);
    }

    #[test]
    fn every_line_is_target_rejected_or_blank(
        lines in prop::collection::vec("[0-9a-f.:/#; ,\\-]{0,20}", 0..20),
    ) {
        let meant = lines.iter().filter(|line| !content(line).is_empty()).count() as u64;
        let understood = lines.iter().filter(|line| content(line).parse::<Span>().is_ok()).count() as u64;
        let how = ReadOptions::plain(SpecialRanges::INCLUDED);
        let list = parse(Path::new("drop.txt"), lines.join("\n").as_bytes(), u64::MAX, &how).unwrap();
        prop_assert_eq!((list.lines, list.rejected_count), (meant, meant - understood));
    }

    #[test]
    fn no_bytes_make_it_panic(bytes: Vec<u8>) {
        let _ = list(&bytes);
    }
}

#[test]
fn cr_line_ends_and_utf16_are_recognised() {
    let short = looks("203.0.113.7\r203.0.113.8\r203.0.113.9\r");
    assert!(short.contains("end with CR only"), "{short}");
    assert!(looks("203.0.113.7\r".repeat(1000)).contains("end with CR only"));
    let saved = looks("create web hash:ip family inet\radd web 203.0.113.1\radd web 203.0.113.2\r");
    assert!(saved.contains("end with CR only"), "{saved}");
    let utf16: Vec<u8> =
        "\u{feff}203.0.113.7\r\n203.0.113.8\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert!(looks(&utf16).contains("UTF-16"), "{}", looks(&utf16));
    assert!(looks(&utf16[2..]).contains("UTF-16"), "{}", looks(&utf16[2..]));
}

/// Found by `soak fuzz`: reading this panicked.
#[test]
fn column_beyond_all_rows_does_not_panic() {
    let text = format!("{}dst_ip\n192.0.2.1,192.0.2.2\n192.0.2.3,192.0.2.4\n", "other,".repeat(99));
    let read = |how: &ReadOptions| parse(Path::new("a.csv"), text.as_bytes(), u64::MAX, how);
    assert!(
        read(&ReadOptions { format: Some(crate::source::Format::Csv), ..ReadOptions::default() }).is_ok()
    );
    assert!(read(&ReadOptions::default()).is_ok());
}

#[test]
fn missing_column_lists_existing_columns() {
    let how =
        ReadOptions { column: Some(crate::source::Column::Name("dst".into())), ..ReadOptions::default() };
    let text = "# of a feed\n\"first_seen\",\"dst_ip\"\n\"2026-01-01\",\"192.0.2.1\"\n";
    let read = |how: &ReadOptions| parse(Path::new("a.csv"), text.as_bytes(), u64::MAX, how).unwrap();
    assert_eq!(
        read(&how).looks,
        " (read as csv: there is no column dst, its columns are first_seen, dst_ip)"
    );
    assert_eq!(
        read(&ReadOptions { column: Some(crate::source::Column::Name("dst_ip".into())), ..how })
            .rejected_count,
        0
    );
}

#[test]
fn ports_line_of_an_allowing_list_leads_to_allow() {
    let text = "198.51.100.10\ntcp|in|d=22|s=192.0.2.9\n";
    let told = |allows| {
        let how = ReadOptions { allows, ..ReadOptions::default() };
        parse(Path::new("csf.allow"), text.as_bytes(), 10, &how).unwrap().rejected[0].to_string()
    };
    assert!(
        told(false).ends_with("is for some ports only: define another list with `ports:`"),
        "{}",
        told(false)
    );
    let allowing = told(true);
    assert!(
        allowing.ends_with("put its address into `allow:`") && !allowing.contains("`ports:`"),
        "{allowing}"
    );
}
