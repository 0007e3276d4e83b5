//! Tests with databases written for this purpose, and comparison with the publisher's own crate.

use std::collections::BTreeMap;
use std::net::IpAddr;

use filter_common::target::Target;
use maxminddb::{PathElement, Reader};
use proptest::prelude::*;

use super::*;
use crate::source::chosen::Autonomous;
use crate::source::database::samples::{Mmdb as Sample, Value, autonomous, country, map, text};

/// Every network with its record, as in `1.0.0.0/8 CN`.
fn read(bytes: &[u8]) -> Result<Vec<String>, DatabaseDamage> {
    let mut read = Vec::new();
    Mmdb::new(bytes)?.each(|leaf, record| {
        let country = record.country.map(|country| country.to_string());
        let number = record.autonomous.map(|number| number.to_string());
        let said = country.or(number).unwrap_or_else(|| "nothing".to_owned());
        read.push(format!("{} {said}", target(leaf)));
        true
    })?;
    Ok(read)
}

fn target(leaf: Leaf) -> Target {
    match leaf {
        Leaf::V4(prefix) => prefix.into(),
        Leaf::V6(prefix) => prefix.into(),
    }
}

/// The networks and records as the crate reads them.
fn read_by_crate(bytes: &[u8]) -> Vec<String> {
    let reader = Reader::from_source(bytes).expect("it reads what we wrote");
    let path = [PathElement::Key("country"), PathElement::Key("iso_code")];
    let networks = reader.networks(Default::default()).unwrap();
    let told = networks.map(|found| {
        let found = found.unwrap();
        let code: Option<&str> = found.decode_path(&path).unwrap();
        let network: Target = found.network().unwrap().to_string().parse().unwrap();
        format!("{network} {}", code.unwrap_or("nothing"))
    });
    told.collect()
}

#[test]
fn each_network_appears_once_despite_aliases() {
    for record_bits in [24, 28, 32] {
        let sample = Sample { record_bits, ..Sample::new("GeoLite2-Country") };
        let bytes = sample
            .with("1.0.1.0/24", &country("CN"))
            .with("2.16.0.0/13", &country("RU"))
            .with("2001:250::/35", &country("CN"))
            .with("2a00:1148::/32", &country("RU"))
            .bytes();
        let expected = ["1.0.1.0/24 CN", "2.16.0.0/13 RU", "2001:250::/35 CN", "2a00:1148::/32 RU"];
        assert_eq!(read(&bytes).unwrap(), expected);
        assert_eq!(read_by_crate(&bytes), expected);
    }
}

#[test]
fn ipv4_and_mapped_databases_are_read() {
    let four = Sample { version: 4, ..Sample::new("Country") }.with("1.0.1.0/24", &country("CN")).bytes();
    assert_eq!(read(&four).unwrap(), ["1.0.1.0/24 CN"]);
    let disguised = Sample { has_aliases: false, ..Sample::new("Country") };
    let disguised = disguised.with("::ffff:1.0.1.0/120", &country("CN")).bytes();
    assert_eq!(read(&disguised).unwrap(), ["1.0.1.0/24 CN"]);
}

#[test]
fn record_layouts_of_all_publishers_are_read() {
    let word = |word: &str| Value::Text(word.to_owned());
    let registered = map([("registered_country", text("iso_code", "CN"))]);
    let both = map([("country", text("iso_code", "RU")), ("registered_country", text("iso_code", "CN"))]);
    let lite = map([("as_name", word("x")), ("asn", word("AS64500")), ("country", word("China"))]);
    let shapes = [
        (country("CN"), "CN"),
        (registered, "CN"),
        (both, "RU"),
        (map([("country", word("China")), ("country_code", word("CN"))]), "CN"),
        (text("country", "CN"), "CN"),
        (text("country_code", "cn"), "CN"),
        (autonomous(64_500), "AS64500"),
        (lite, "AS64500"),
        (map([("traits", map([("autonomous_system_number", Value::Number(64_500))]))]), "AS64500"),
        (map([("autonomous_system_number", Value::Number(0))]), "nothing"),
        (map([]), "nothing"),
        (word("CN"), "nothing"),
        (text("country", ""), "nothing"),
        (map([("country", map([("iso_code", Value::Number(7))]))]), "nothing"),
    ];
    for (value, said) in shapes {
        let bytes = Sample::new("Any").with("1.0.0.0/8", &value).bytes();
        assert_eq!(read(&bytes).unwrap(), [format!("1.0.0.0/8 {said}")], "{value:?}");
    }
}

#[test]
fn the_description_is_read() {
    let bytes = Sample::new("DBIP-Country-Lite").with("1.0.0.0/8", &country("CN")).bytes();
    let database = Mmdb::new(&bytes).unwrap();
    assert_eq!((database.kind.as_str(), database.built), ("DBIP-Country-Lite", Some(1_795_219_200)));
}

#[test]
fn walk_stops_when_caller_has_enough() {
    let bytes = Sample::new("x").with("1.0.0.0/8", &country("CN")).with("3.0.0.0/8", &country("CN")).bytes();
    let mut taken = 0;
    let taking = Mmdb::new(&bytes).unwrap().each(|_, _| {
        taken += 1;
        false
    });
    assert_eq!((taking, taken), (Ok(()), 1));
}

/// A database with these 24-bit tree records and this data.
fn made(version: u8, records: &[[u32; 2]], data: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for word in records.iter().flatten() {
        bytes.extend(&word.to_be_bytes()[1..]);
    }
    bytes.extend([0; GAP]);
    bytes.extend(data);
    bytes.extend(MARKER);
    bytes.push(0xe4);
    for (name, value) in [
        ("binary_format_major_version", 2),
        ("node_count", records.len()),
        ("record_size", 24),
        ("ip_version", version.into()),
    ] {
        bytes.push(if name.len() < 29 { 0x40 | name.len() as u8 } else { unreachable!("they are short") });
        bytes.extend(name.bytes());
        bytes.extend([0xc4, 0, 0, (value >> 8) as u8, value as u8]);
    }
    bytes
}

#[test]
fn cyclic_tree_is_refused() {
    // Each of these nodes leads to the next one twice: two hundred doublings, with and without a record at
    // the end.
    for last in [[200, 200], [216, 216]] {
        let mut records: Vec<_> = (1..200).map(|next| [next, next]).collect();
        records.push(last);
        let damage = read(&made(6, &records[..], b"\xe0")).unwrap_err();
        assert!(
            ["its tree leads back to itself", "its tree is deeper than an address has bits"]
                .contains(&damage.0)
        );
    }
    for records in [&[[0, 0]][..], &[[1, 1], [0, 0]], &[[0, 1]], &[[1, 2], [0, 1]]] {
        let read = read(&made(4, records, b"\xe0"));
        assert!(read.is_err() || records == [[0, 1]], "{records:?}");
    }
}

#[test]
fn invalid_leaves_and_endless_values_are_refused() {
    let told = |records: &[[u32; 2]], data: &[u8]| read(&made(4, records, data)).unwrap_err().to_string();
    // Records up to 16 beyond the tree are in the gap.
    assert_eq!(told(&[[2, 1]], b"\xe0"), "a leaf of its tree names no data");
    assert_eq!(told(&[[17 + 1, 1]], b"\xe0"), "it ends in the middle of a value");
    assert_eq!(told(&[[17, 1]], b"\xe1"), "it ends in the middle of a value");
    assert_eq!(told(&[[17, 1]], b"\x20\x00"), "a pointer leads to a pointer");
    assert_eq!(told(&[[17, 1]], b"\x00\x05"), "it has values of an unknown kind");
}

/// Arrays that point to arrays, each twice: a reader that follows pointers to skip a value would look at 2^30
/// of them.
#[test]
fn branching_values_are_skipped_quickly() {
    let mut data = Vec::new();
    for level in 1..=30_u8 {
        data.extend([0x02, 0x04, 0x20, level * 6, 0x20, level * 6]);
    }
    data.extend(b"\x40");
    let at = data.len() as u32;
    data.extend(b"\xe2\x41a\x20\x00\x4ccountry_code\x42CN");
    assert_eq!(read(&made(4, &[[17 + at, 1]], &data)).unwrap(), ["0.0.0.0/1 CN"]);
}

#[test]
fn truncated_database_is_never_a_shorter_list() {
    let bytes =
        Sample::new("x").with("1.0.0.0/8", &country("CN")).with("2001:250::/35", &country("RU")).bytes();
    for end in 0..bytes.len() {
        assert!(read(&bytes[..end]).is_err(), "cut at {end}");
    }
    // The description is undamaged, but the tree lost a piece.
    let gone = [&bytes[..60], &bytes[120..]].concat();
    assert!(read(&gone).is_err() || read(&gone).unwrap() != read(&bytes).unwrap());
}

fn networks() -> impl Strategy<Value = BTreeMap<String, &'static str>> {
    let four = (any::<u32>(), 9_u8..=32).prop_map(|(bits, length)| {
        let prefix: Target = filter_common::target::Prefix::covering(bits | 1 << 30, length).into();
        let told = prefix.to_string();
        if told.contains('/') { told } else { told + "/32" }
    });
    let six = (any::<u128>(), 17_u8..=128).prop_map(|(bits, length)| {
        let prefix: Target = filter_common::target::Prefix::covering(bits | 1 << 127, length).into();
        let told = prefix.to_string();
        if told.contains('/') { told } else { told + "/128" }
    });
    prop::collection::btree_map(prop_oneof![four, six], prop::sample::select(vec!["CN", "RU", "GB"]), 1..40)
}

proptest! {
    #[test]
    fn values_match_the_reference_crate(networks in networks(), size in 0_usize..3, has_aliases: bool) {
        let mut sample = Sample { record_bits: [24, 28, 32][size], has_aliases, ..Sample::new("x") };
        // The wider ones first, so that they do not overwrite narrower ones.
        let mut sorted: Vec<_> = networks.iter().collect();
        let length = |prefix: &str| prefix.split_once('/').unwrap().1.parse::<u8>().unwrap();
        sorted.sort_by_key(|(prefix, _)| length(prefix));
        sorted.into_iter().for_each(|(prefix, code)| sample.put(prefix, &country(code)));
        let bytes = sample.bytes();
        prop_assert_eq!(read(&bytes).unwrap(), read_by_crate(&bytes));
    }

    #[test]
    fn an_address_is_what_it_was_written_as(networks in networks()) {
        let mut sample = Sample::new("x");
        networks.iter().for_each(|(prefix, code)| sample.put(prefix, &country(code)));
        let bytes = sample.bytes();
        let reader = Reader::from_source(&bytes[..]).unwrap();
        let mut read = Vec::new();
        Mmdb::new(&bytes).unwrap().each(|leaf, record| {
            read.push((target(leaf), record.country.unwrap().to_string()));
            true
        }).unwrap();
        for prefix in networks.keys() {
            let address: IpAddr = prefix.split_once('/').unwrap().0.parse().unwrap();
            let looked_up = reader.lookup(address).unwrap();
            let path = [PathElement::Key("country"), PathElement::Key("iso_code")];
            let code: Option<&str> = looked_up.decode_path(&path).unwrap();
            let found: Vec<_> = read.iter().filter(|(target, _)| target.contains(address)).collect();
            prop_assert_eq!(found.len(), 1, "{}", address);
            prop_assert_eq!(Some(found[0].1.as_str()), code);
        }
    }
}

#[test]
fn numbers_of_networks_are_numbers() {
    let bytes = Sample::new("GeoLite2-ASN").with("1.0.0.0/8", &autonomous(4_294_967_295)).bytes();
    let mut numbers = Vec::new();
    let read = Mmdb::new(&bytes).unwrap().each(|_, record| {
        numbers.extend(record.autonomous);
        true
    });
    assert_eq!((read, numbers), (Ok(()), vec![Autonomous::new(4_294_967_295).unwrap()]));
}
