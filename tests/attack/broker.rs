//! The broker's protocol, spoken by a daemon that fell into other hands. `keeper` has what the broker refuses one by one.

use std::time::Instant;

use filter_common::cuckoo::geometry::Geometry;
use filter_common::stash;
use harness::{Home, Net};
use serde_json::json;

use crate::keeper::Keeper;

/// A machine of 64 MiB.
const MEMORY: &str = "MemTotal: 65536 kB\nMemFree: 65536 kB\nMemAvailable: 60000 kB\n";

/// Of that maps may take three quarters.
const MOST: u64 = 48 << 20;

/// Discarded bytes that count as freed each minute.
const A_MINUTE: u64 = 64 << 20;

#[test]
fn maps_made_and_discarded_for_ever_are_rationed() {
    let (net, home) = (Net::new(), Home::new());
    let meminfo = home.write("meminfo", MEMORY);
    let own_memory = r#"mount --bind "$0" /proc/meminfo && exec "$@""#;
    let words = ["unshare", "--mount", "sh", "-c", own_memory, &meminfo.display().to_string()];
    let mut keeper = Keeper::start_through(&net, &home, &words);
    let words = u64::from(stash::WORDS + Geometry::exact4(1 << 19).words());
    let addresses = json!({"set": 0, "part": "Addresses"});
    let (mut made, begun) = (0, Instant::now());
    let refused = (1..1000).find_map(|generation| {
        let answer =
            keeper.ask(&json!({"Make": {"map": &addresses, "generation": generation, "words": words}}));
        if answer.get("Failed").is_some() {
            return Some(answer.to_string());
        }
        made += words * 8;
        // The descriptor that came with the answer may be kept: the broker cannot see that.
        keeper.does(&json!({"Discard": {"map": &addresses, "generation": generation}}));
        None
    });
    let refused = refused.expect("it does not end");
    assert!(refused.contains("were discarded in the last minutes"), "{refused}");
    // So much counts as freed meanwhile.
    let freed = begun.elapsed().as_millis() as u64 * A_MINUTE / 60_000;
    assert!(made <= MOST + freed && made + words * 8 > MOST, "{made} bytes were made, and {freed} freed");
    // Rings for samples are maps, too.
    let rings = (0..1000).take_while(|_| keeper.ask(&json!("Samples")).get("Failed").is_none());
    assert!(rings.count() < 10);
}

#[test]
fn odd_messages_end_the_broker_and_nothing_else() {
    let (net, home) = (Net::new(), Home::new());
    for message in
        ["", "{", "null", "[]", "{\"Attach\":7}", "{\"Mount\":{}}", "\u{0}\u{0}", &"[".repeat(4000)]
    {
        let mut keeper = Keeper::start(&net, &home);
        keeper.say(message);
        keeper.wait_for_the_end();
        assert!(net.attached("eth0").is_none());
    }
}
