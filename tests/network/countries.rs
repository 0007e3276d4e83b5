//! Lists that are chosen out of a database on this machine: what a country has is dropped, and nothing of its neighbours.

use std::fs;
use std::path::PathBuf;

use nix::sys::signal::Signal;

use harness::mmdb::{Mmdb, autonomous, country};
use harness::{ATTACKER, ATTACKER6, BYSTANDER, BYSTANDER6, Net};

const FAR: &str = "lists: [{name: far, country: [CN], database: $HOME/country.mmdb}]";

/// What is the attacker's in one country, and what is the bystander's in another.
fn database(attacker: &str, bystander: &str) -> Vec<u8> {
    let one = Mmdb::new("GeoLite2-Country").with("203.0.113.0/24", &country(attacker));
    let both = one.with("2001:db8:bad::/48", &country(attacker)).with("198.51.100.0/24", &country(bystander));
    both.with("2001:db8:900d::/48", &country(bystander)).bytes()
}

/// As those who update databases do it.
fn put(net: &Net, name: &str, bytes: &[u8]) -> PathBuf {
    let (path, new) = (net.home().path(name), net.home().path("new"));
    fs::write(&new, bytes).expect("a file can be written");
    fs::rename(new, &path).expect("and gets its name");
    net.readable_by_all();
    path
}

#[test]
fn country_follows_database_and_ignores_broken_one() {
    let mut net = Net::new();
    put(&net, "country.mmdb", &database("CN", "RU"));
    net.start(FAR);
    net.expect_each([ATTACKER, ATTACKER6]).dropped();
    net.expect_each([BYSTANDER, BYSTANDER6]).passes();
    net.filterd(["test", ATTACKER]).succeeds().says("far").says("203.0.113.0/24");
    // The database is replaced.
    let newer = database("RU", "CN");
    put(&net, "country.mmdb", &newer);
    net.filterd(["reload"]).succeeds();
    net.expect_each([BYSTANDER, BYSTANDER6]).dropped();
    net.expect_each([ATTACKER, ATTACKER6]).passes();
    // By half of itself, and by one of another kind.
    let networks = Mmdb::new("GeoLite2-ASN").with("203.0.113.0/24", &autonomous(64_500)).bytes();
    for (broken, said) in [(&newer[..newer.len() / 2], "its end is missing"), (&networks, "has no countries")]
    {
        put(&net, "country.mmdb", broken);
        net.filterd(["reload"]).exits(7).complains(said).complains("list \"far\" was not updated");
        net.expect_each([BYSTANDER, BYSTANDER6]).dropped();
        net.expect_each([ATTACKER, ATTACKER6]).passes();
    }
    // After a death, too: its last good copy is the list, and not the database.
    net.end(Signal::SIGKILL);
    net.start(FAR);
    net.expect_each([BYSTANDER, BYSTANDER6]).dropped();
    net.expect_each([ATTACKER, ATTACKER6]).passes();
    // One list may be read alone, too.
    put(&net, "country.mmdb", &database("CN", "RU"));
    net.filterd(["lists", "refresh", "far"]).succeeds();
    net.expect_each([ATTACKER, ATTACKER6]).dropped();
    net.expect_each([BYSTANDER, BYSTANDER6]).passes();
}

/// The other network of that country moves meanwhile.
#[test]
fn networks_keep_expiries_with_another_database() {
    let mut net = Net::new();
    let lasting = FAR.replace("far,", "far, ttl: 1h,");
    put(&net, "country.mmdb", &database("CN", "RU"));
    net.start(&lasting);
    net.filterd(["reload"]).succeeds();
    let until = |net: &Net, target: &str| {
        let entries = net.filterd(["list", "--json"]).succeeds().json_lines();
        let entry = entries.into_iter().find(|entry| entry["target"] == target);
        entry.and_then(|entry| entry["until"].as_u64())
    };
    let first = until(&net, "203.0.113.0/24");
    std::thread::sleep(std::time::Duration::from_millis(1100));
    net.end(Signal::SIGKILL);
    put(&net, "country.mmdb", &database("CN", "CN"));
    net.start(&lasting);
    assert_eq!((until(&net, "203.0.113.0/24"), first.is_some()), (first, true));
    assert!(until(&net, "198.51.100.0/24") > first);
}

#[test]
fn changed_choice_applies_to_same_database() {
    let mut net = Net::new();
    put(&net, "country.mmdb", &database("CN", "RU"));
    put(&net, "asn.mmdb", &Mmdb::new("GeoLite2-ASN").with("198.51.100.0/24", &autonomous(64_500)).bytes());
    net.start(FAR);
    let other = FAR.replace("CN", "RU");
    net.configure(&other);
    net.filterd(["reload"]).succeeds();
    net.expect_each([BYSTANDER, BYSTANDER6]).dropped();
    net.expect_each([ATTACKER, ATTACKER6]).passes();
    // While nobody ran.
    net.end(Signal::SIGKILL);
    net.start(FAR);
    net.expect_each([ATTACKER, ATTACKER6]).dropped();
    net.expect_each([BYSTANDER, BYSTANDER6]).passes();
    net.configure("lists: [{name: net, asn: [AS64500, AS64501], database: $HOME/asn.mmdb}]");
    net.filterd(["reload"]).succeeds().complains("its database (GeoLite2-ASN) has no network of AS64501");
    net.expect(BYSTANDER).dropped();
    net.expect_each([ATTACKER, ATTACKER6, BYSTANDER6]).passes();
}

/// `check`, `diff` and `reload` agree.
#[test]
fn choice_without_networks_keeps_the_list() {
    let mut net = Net::new();
    put(&net, "country.mmdb", &database("CN", "RU"));
    net.start(FAR);
    let other = FAR.replace("CN", "DE");
    net.configure(&other);
    let absent = "its database (GeoLite2-Country) has no network of DE";
    let foretold = "list \"far\" would not be updated";
    net.filterd(["diff"]).exits(7).complains(foretold).complains(absent);
    net.filterd(["reload"]).exits(7).complains("list \"far\" was not updated").complains(absent);
    net.expect_each([ATTACKER, ATTACKER6]).dropped();
    // After a death, too.
    net.end(Signal::SIGKILL);
    net.start(&other);
    net.expect_each([ATTACKER, ATTACKER6]).dropped();
    net.configure(&other.replace("[DE]", "[DE], min_entries: 0"));
    net.filterd(["reload"]).succeeds().complains(absent);
    net.expect_each([ATTACKER, ATTACKER6]).passes();
}
