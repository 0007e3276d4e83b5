//! Tests with databases as operators have them: of the wrong kind, in folders, compressed, damaged, old.

use std::fs;
use std::path::PathBuf;

use super::samples::{Mmdb as Sample, autonomous, country};
use super::*;
use crate::source::{Chosen, SpecialRanges};
use crate::text::Explain;

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn put(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    }
}

fn countries(codes: &str, paths: Vec<PathBuf>) -> Database {
    let codes = codes.split(' ').map(|code| code.parse().unwrap()).collect();
    Database { paths, chosen: Chosen::Countries(codes), refresh: None }
}

fn autonomous_systems(numbers: &str, paths: Vec<PathBuf>) -> Database {
    let numbers = numbers.split(' ').map(|number| number.parse().unwrap()).collect();
    Database { paths, chosen: Chosen::Autonomous(numbers), refresh: None }
}

fn listed(database: &Database) -> Result<ListFile, FileError> {
    let how = ReadOptions { database: None, ..ReadOptions::plain(SpecialRanges::EXCLUDED) };
    list(database, &Limits::default(), &how, None, &ReadProgress::default())
}

fn told(database: &Database) -> String {
    let file = listed(database).expect("it is a list");
    file.targets.iter().map(|target| target.to_string()).collect::<Vec<_>>().join(" ")
}

fn refused(database: &Database) -> String {
    listed(database)
        .expect_err("it is none")
        .explain()
        .to_string()
        .replace(&database.path().display().to_string(), "DB")
}

fn sample() -> Vec<u8> {
    let sample =
        Sample::new("GeoLite2-Country").with("1.0.0.0/24", &country("CN")).with("1.0.1.0/24", &country("RU"));
    sample.with("10.0.0.0/8", &country("RU")).with("2001:250::/35", &country("CN")).bytes()
}

fn delegated(registry: &str, lines: &[&str]) -> String {
    let lines: String = lines.iter().map(|line| format!("{registry}|{line}\n")).collect();
    format!("2|{registry}|20261120|9|19830613|20261119|+1000\n{lines}")
}

#[test]
fn country_list_leaves_out_special_ranges() {
    let place = Place::new();
    let path = place.put("country.mmdb", sample());
    assert_eq!(told(&countries("CN", vec![path.clone()])), "1.0.0.0/24 2001:250::/35");
    assert_eq!(told(&countries("RU CN", vec![path.clone()])), "1.0.0.0/23 2001:250::/35");
    let file = listed(&countries("RU", vec![path])).unwrap();
    assert_eq!((file.special, file.remarks), (1, Remarks { built: Some(1_795_219_200), absent: None }));
}

#[test]
fn copy_equals_the_selected_list() {
    let place = Place::new();
    let database = countries("CN RU", vec![place.put("country.mmdb", sample())]);
    let (mut copy, how) = (Vec::new(), ReadOptions::plain(SpecialRanges::EXCLUDED));
    let file = list(&database, &Limits::default(), &how, Some(&mut copy), &ReadProgress::default()).unwrap();
    assert_eq!(String::from_utf8(copy.clone()).unwrap(), "1.0.0.0/23\n10.0.0.0/8\n2001:250::/35\n");
    let again = list::parse(Path::new("copy"), &copy[..], u64::MAX, &how).unwrap();
    assert_eq!((again.targets, again.special), (file.targets, file.special));
}

#[test]
fn the_networks_of_autonomous_systems_are_a_list() {
    let place = Place::new();
    let sample = Sample::new("GeoLite2-ASN")
        .with("1.0.0.0/24", &autonomous(64_500))
        .with("1.0.1.0/24", &autonomous(64_501));
    let path = place.put("asn.mmdb", sample.bytes());
    assert_eq!(told(&autonomous_systems("AS64501", vec![path.clone()])), "1.0.1.0/24");
    let file = listed(&autonomous_systems("64500 AS64502 AS64503", vec![path])).unwrap();
    assert_eq!(file.targets.len(), 1);
    let told = "its database (GeoLite2-ASN) has no network of AS64502, AS64503";
    assert_eq!(file.remarks.absent.as_deref(), Some(told));
}

#[test]
fn registry_files_and_folder_are_read_together() {
    let place = Place::new();
    let one = delegated(
        "apnic",
        &["CN|ipv4|1.0.1.0|768|20110414|allocated", "CN|ipv6|2001:250::|35|2000|allocated"],
    );
    let other = delegated("ripencc", &["CN|ipv4|1.0.4.0|256|20110414|assigned"]);
    let files = vec![place.put("delegated-apnic-latest", one), place.put("delegated-ripencc-latest", other)];
    place.put("delegated-apnic-latest.md5", "MD5 (delegated-apnic-latest) = 0");
    place.put("readme", "");
    let expected =
        "1.0.1.0/24 1.0.2.0-1.0.4.255 2001:250::/35".replace("1.0.2.0-1.0.4.255", "1.0.2.0/23 1.0.4.0/24");
    assert_eq!(told(&countries("CN", files)), expected);
    let folder = countries("CN", vec![place.0.path().into()]);
    assert_eq!(told(&folder), expected);
    let networks = read(&folder, 100, &ReadProgress::default()).unwrap();
    assert_eq!(networks.from, "apnic's allocations, ripencc's allocations");
}

#[test]
fn wrong_database_is_reported_with_remedy() {
    let place = Place::new();
    let asn = Sample::new("GeoLite2-ASN").with("1.0.0.0/24", &autonomous(64_500)).bytes();
    let cut = delegated("apnic", &["*|ipv4|*|100|summary", "CN|ipv4|1.0.1.0|256|20110414|allocated"]);
    let mut damaged = sample();
    damaged.drain(40..400);
    for (name, bytes, said) in [
        (
            "asn.mmdb",
            asn,
            "DB: this database (GeoLite2-ASN) has no countries; use one that does, such as GeoLite2-Country.mmdb",
        ),
        ("x.tar.gz", vec![0x1f, 0x8b, 8], "DB: it is compressed; unpack it, and name the .mmdb file"),
        ("x.html", b"<html>".into(), "DB: it is HTML, so the download probably failed; download it again"),
        (
            "x.csv",
            b"network,geoname_id".into(),
            "DB: it is a table (CSV), not a database; download the .mmdb file of the same name",
        ),
        ("empty", Vec::new(), "DB: the file is empty; download it again"),
        (
            "half.mmdb",
            sample()[..300].into(),
            "DB: it is neither a database (.mmdb) nor a registry's file (delegated-*), or its end is missing; download it again, or name another file",
        ),
        ("cut", cut.into(), "DB: it has 1 lines of networks, but says that it has 100; download it again"),
        ("damaged.mmdb", damaged, "DB: the database is damaged: "),
    ] {
        let told = refused(&countries("CN", vec![place.put(name, bytes)]));
        assert!(told.starts_with(said), "{name}: {told}");
    }
    let path = place.put("country.mmdb", sample());
    let told = refused(&autonomous_systems("AS64500", vec![path]));
    assert_eq!(
        told,
        "DB: this database (GeoLite2-Country) has no autonomous systems; use one that does, such as GeoLite2-ASN.mmdb"
    );
    let path = place.put("delegated-x", delegated("apnic", &[]));
    assert!(refused(&autonomous_systems("AS64500", vec![path])).contains("has no AS numbers"));
    let empty = Place::new();
    assert!(refused(&countries("CN", vec![empty.0.path().into()])).contains("begins with delegated-"));
    assert_eq!(refused(&countries("CN", vec!["/nowhere/x.mmdb".into()])), "DB: there is no such file");
}

#[test]
fn selection_beyond_max_entries_is_cut() {
    let place = Place::new();
    let mut sample = Sample::new("Country");
    (0..100).for_each(|at| sample.put(&format!("1.{at}.0.0/24"), &country("CN")));
    let database = countries("CN", vec![place.put("country.mmdb", sample.bytes())]);
    let limits = Limits { max_entries: 10, ..Limits::default() };
    let file = list(&database, &limits, &ReadOptions::default(), None, &ReadProgress::default()).unwrap();
    assert!(file.is_cut && file.targets.len() == 10, "{}", file.targets.len());
}

#[test]
fn stamp_depends_on_files_and_selection() {
    let place = Place::new();
    let path = place.put("country.mmdb", sample());
    let (cn, ru) = (countries("CN", vec![path.clone()]), countries("RU", vec![path.clone()]));
    let before = stamp(&cn).unwrap();
    assert_eq!(stamp(&cn), Some(before));
    assert_ne!(stamp(&ru), Some(before));
    assert!(is_of_another_choice(before, &ru) && !is_of_another_choice(before, &cn));
    fs::rename(place.put("new", sample()), &path).unwrap();
    assert_ne!(stamp(&cn), Some(before), "another file of the same bytes");
    assert!(!is_of_another_choice(stamp(&cn).unwrap(), &cn));
    fs::remove_file(path).unwrap();
    assert_eq!(stamp(&cn), None);
}

/// As many networks as the largest country has, with as many of its neighbour's between them.
#[test]
fn largest_country_is_read_completely() {
    let mut sample = Sample::new("GeoLite2-Country");
    let (ours, theirs) = (country("US"), country("CA"));
    for at in 0..50_000_u32 {
        let network = std::net::Ipv4Addr::from_bits(0x1700_0000 + (at << 9));
        sample.put(&format!("{network}/24"), &ours);
        sample.put(&format!("{}/24", std::net::Ipv4Addr::from_bits(network.to_bits() + 256)), &theirs);
    }
    for at in 0..24_000_u128 {
        let network = |bits: u128| std::net::Ipv6Addr::from_bits(0x2600 << 112 | bits << 80);
        sample.put(&format!("{}/48", network(2 * at)), &ours);
        sample.put(&format!("{}/48", network(2 * at + 1)), &theirs);
    }
    let place = Place::new();
    let database = countries("US", vec![place.put("country.mmdb", sample.bytes())]);
    let begun = std::time::Instant::now();
    let file = listed(&database).unwrap();
    println!("74,000 networks in {:?}", begun.elapsed());
    assert_eq!((file.targets.len(), file.rejected_count, file.special), (74_000, 0, 0));
    let has = |word: &str| file.targets.iter().any(|target| target == word.parse().unwrap());
    assert!(has("23.0.0.0/24") && has("2600:0:2::/48") && !has("23.0.1.0/24") && !has("2600:0:1::/48"));
}
