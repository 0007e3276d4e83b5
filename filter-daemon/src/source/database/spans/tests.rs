//! Tests of ranges of every kind, and of the lines that they become.

use proptest::prelude::*;

use super::*;

fn lines(spans: &mut Spans) -> Vec<String> {
    spans.join();
    let mut text = String::new();
    spans.lines().read_to_string(&mut text).unwrap();
    text.lines().map(str::to_owned).collect()
}

fn of4(ranges: &[(u32, u32)]) -> Vec<String> {
    let mut spans = Spans::new(1000);
    ranges.iter().for_each(|(first, last)| spans.push4(*first, *last));
    lines(&mut spans)
}

fn ip(word: &str) -> u32 {
    word.parse::<std::net::Ipv4Addr>().unwrap().to_bits()
}

#[test]
fn joining_adds_no_addresses() {
    let (a, b, c) = (ip("1.0.0.0"), ip("1.0.1.0"), ip("1.0.2.0"));
    assert_eq!(of4(&[(a, a + 255), (b, b + 255)]), ["1.0.0.0/23"]);
    assert_eq!(of4(&[(b, b + 255), (c, c + 255)]), ["1.0.1.0/24", "1.0.2.0/24"]);
    assert_eq!(of4(&[(c, c + 255), (a, a + 255), (b, b + 9), (b, b + 255)]), ["1.0.0.0/23", "1.0.2.0/24"]);
    assert_eq!(of4(&[(u32::MAX, u32::MAX), (0, 0)]), ["0.0.0.0", "255.255.255.255"]);
}

#[test]
fn any_count_of_addresses_is_exact() {
    assert_eq!(of4(&[(ip("41.0.0.0"), ip("41.0.0.0") + 767)]), ["41.0.0.0/23", "41.0.2.0/24"]);
}

#[test]
fn joined_lines_are_always_accepted() {
    assert_eq!(of4(&[(6 << 24, (8 << 24) - 1)]), ["6.0.0.0/8", "7.0.0.0/8"]);
    assert_eq!(
        of4(&[(6 << 24, (7 << 24) - 1), (7 << 24, (8 << 24) + 3)]),
        ["6.0.0.0/8", "7.0.0.0/8", "8.0.0.0/30"]
    );
    let mut spans = Spans::new(10);
    spans.push6("2600::/15".parse::<Target>().map(six).unwrap());
    assert_eq!(lines(&mut spans), ["2600::/16", "2601::/16"]);
}

fn six(target: Target) -> Prefix6 {
    match target {
        Target::V6(prefix) => prefix,
        Target::V4(_) => unreachable!("it is IPv6"),
    }
}

#[test]
fn very_wide_record_stays_one_line() {
    assert_eq!(of4(&[(0, u32::MAX >> 1)]), ["0.0.0.0/1"]);
    let mut spans = Spans::new(10);
    spans.push6(Prefix::covering(0, 0));
    spans.push6(Prefix::covering(1 << 100, 64));
    assert_eq!(lines(&mut spans), ["::/0"], "and what lies below ::/16 is left out");
}

#[test]
fn range_count_stays_near_the_limit() {
    let mut spans = Spans::new(4);
    let pushed = (0..).take_while(|at| {
        spans.push4(at * 1000, at * 1000);
        !spans.join_if_full()
    });
    assert_eq!(pushed.count(), 5);
    // Ranges that can be joined do not count, even if they arrived out of order.
    let mut spans = Spans::new(4);
    for at in (0..1000).rev() {
        spans.push4(at, at);
        assert!(!spans.join_if_full(), "{at}");
    }
    assert_eq!(
        lines(&mut spans),
        ["0.0.0.0/23", "0.0.2.0/24", "0.0.3.0/25", "0.0.3.128/26", "0.0.3.192/27", "0.0.3.224/29"]
    );
}

proptest! {
    #[test]
    fn lines_name_what_was_pushed_and_nothing_else(
        ranges in prop::collection::vec((0_u32..4000, 0_u32..600), 1..30),
    ) {
        let base = ip("9.255.248.0");
        let ranges: Vec<_> = ranges.iter().map(|(first, more)| (base + first, base + first + more)).collect();
        let targets: Vec<Target> = of4(&ranges).iter().map(|line| line.parse().unwrap()).collect();
        for at in base..base + 4700 {
            let is_in = ranges.iter().any(|(first, last)| (*first..=*last).contains(&at));
            let named = targets.iter().filter(|target| target.contains(at.to_ip())).count();
            prop_assert_eq!(named, usize::from(is_in), "{}", at.to_ip());
        }
    }
}
