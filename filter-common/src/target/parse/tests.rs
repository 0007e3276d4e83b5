//! Tests of the words that operators write, and of the errors that they get.

use std::format;
use std::string::{String, ToString};

use proptest::prelude::*;

use super::*;

fn told(word: &str) -> String {
    word.parse::<Span>().expect_err(word).to_string()
}

#[test]
fn host_bits_are_reported_with_both_meanings() {
    assert_eq!(told("10.0.0.1/8"), "10.0.0.1/8 has host bits set: did you mean 10.0.0.0/8 or 10.0.0.1?");
    assert_eq!(
        told("2001:db8::1/32"),
        "2001:db8::1/32 has host bits set: did you mean 2001:db8::/32 or 2001:db8::1?"
    );
}

#[test]
fn backward_range_gets_the_right_suggestion() {
    assert_eq!(
        told("10.0.0.9-10.0.0.1"),
        "10.0.0.9-10.0.0.1 ends before it begins: did you mean 10.0.0.1-10.0.0.9?"
    );
}

#[test]
fn mapped_target_gets_an_ipv4_suggestion() {
    let hint = |word: &str| word.parse::<Span>().expect_err(word).hint().to_string();
    assert_eq!(hint("::ffff:1.2.3.4"), "write 1.2.3.4");
    assert_eq!(hint("::ffff:1.2.3.0/120"), "write 1.2.3.0/24");
    assert_eq!(hint("::ffff:0:0/96"), "write 0.0.0.0/0");
    assert_eq!(hint("::ffff:1.2.3.4-::ffff:1.2.3.9"), "write 1.2.3.4");
    assert_eq!("::1-1::".parse::<Span>(), Err(E::MappedRange));
    assert!("::/80".parse::<Span>().is_ok(), "a wide prefix that happens to hold them is IPv6");
}

#[test]
fn every_slip_has_its_own_explanation() {
    let table = [
        ("", "this is empty"),
        ("-", "this is no address"),
        (
            "10.0.0.0/33",
            "the prefix length 33, but addresses of its family have 32 bits: write a number from 0 to 32",
        ),
        ("::/129", "the prefix length 129, but addresses of its family have 128 bits"),
        ("10.0.0.0/99999999999", "no number as its prefix length"),
        ("10.0.0.0/08", "no number as its prefix length"),
        ("10.0.0.0/+8", "no number as its prefix length"),
        ("10.0.0.0/", "no number as its prefix length"),
        ("10.0.0.0/8/8", "no number as its prefix length"),
        ("10.0.0.0/255.0.0.0", "a netmask in place of a prefix length: did you mean 10.0.0.0/8?"),
        ("10.0.0.0/255.0.255.0", "no number as its prefix length"),
        ("10.0.0.1-2001:db8::", "begins in one address family and ends in the other"),
        ("010.0.0.1", "leading zeros, which may mean octal: did you mean 10.0.0.1?"),
        ("010.0.0.0/8", "leading zeros"),
        ("1.2.3.00-1.2.3.9", "did you mean 1.2.3.0?"),
        ("fe80::1%eth0", "names an interface, which no packet carries: did you mean fe80::1?"),
        ("fe80::%br-lan/64", "did you mean fe80::?"),
        ("192.0.2.1:80", "as if it had a port: did you mean 192.0.2.1?"),
        ("[2001:db8::1]:443", "did you mean 2001:db8::1?"),
        ("[2001:db8::1]", "did you mean 2001:db8::1?"),
        ("example.com", "is a host name, not an address"),
        ("my-host.example.com", "is a host name"),
        ("10.0.0.1-example.com", "is a host name"),
        ("10.0.0.256", "is no IPv4 address: it has four numbers from 0 to 255"),
        ("10.0.0.1-10.0.0.256", "is no IPv4 address"),
        ("10.0.0", "is no IPv4 address"),
        ("10/8", "is no IPv4 address"),
        ("2001:db8:::1", "is no IPv6 address"),
        ("fe80:", "is no IPv6 address"),
        ("http://example.com/", "is no address, prefix or range"),
        ("10.0.0.1 10.0.0.2", "is no address, prefix or range"),
        ("٣.0.0.1", "is no address, prefix or range"),
        ("%", "is no address, prefix or range"),
        ("/", "this is no address"),
    ];
    for (word, expected) in table {
        let told = told(word);
        assert!(told.contains(expected), "{word:?} is told as {told:?}, not {expected:?}");
    }
}

#[test]
fn everything_of_a_family_may_be_named() {
    assert_eq!("0.0.0.0/0".parse::<Target>().unwrap().to_string(), "0.0.0.0/0");
    assert_eq!("::/0".parse::<Target>().unwrap().to_string(), "::/0");
}

#[test]
fn blanks_are_allowed_only_around_the_dash() {
    assert_eq!("10.0.0.0 - 10.0.0.3".parse::<Span>().unwrap().to_string(), "10.0.0.0/30");
    assert!(" 10.0.0.0-10.0.0.3".parse::<Span>().is_err());
    assert!("10.0.0.0 ".parse::<Span>().is_err());
}

#[test]
fn zone_with_dash_does_not_overflow_stack() {
    assert!("%-".parse::<Target>().is_err());
    assert!("%-".parse::<Span>().is_err());
}

#[test]
fn a_range_is_no_single_target() {
    assert_eq!("10.0.0.0-10.0.0.255".parse::<Target>(), Err(E::Range));
}

proptest! {
    #[test]
    fn any_ipv4_target_reads_back_from_its_text(address: u32, length in 0u8..=32) {
        let target = Target::V4(Prefix::covering(address, length));
        prop_assert_eq!(target.to_string().parse::<Target>(), Ok(target));
    }

    #[test]
    fn any_ipv6_target_reads_back_from_its_text(address: u128, length in 0u8..=128) {
        let target = Target::V6(Prefix::covering(address | 1 << 127, length.max(1)));
        prop_assert_eq!(target.to_string().parse::<Target>(), Ok(target));
    }

    #[test]
    fn host_bits_never_slip_through(address: u32, length in 0u8..32) {
        let word = format!("{}/{length}", address.to_ip());
        let aligned = Prefix::covering(address, length).address() == address;
        prop_assert_eq!(word.parse::<Target>().is_ok(), aligned);
    }

    #[test]
    fn no_word_makes_it_panic(word in "[0-9a-f:./%\\-\\[\\] xé]{0,24}") {
        if let Err(error) = word.parse::<Span>() {
            prop_assert!(!error.to_string().is_empty());
        }
        let _ = word.parse::<Target>();
    }
}
