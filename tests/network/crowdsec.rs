//! filterd follows CrowdSec: what CrowdSec has decided is dropped until it ends, whatever CrowdSec does meanwhile.
//!
//! `real` asks the LAPI of Debian's crowdsec, 1.4.6. `scripted` asks one that answers as the swagger and the source of
//! 1.7.8 say, faults included.

mod full_disk;
mod killed;
mod log;
mod outage;
mod ports;
mod random_life;
mod real;
mod scripted;
mod usage;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;

use harness::{Net, give_to_daemon};

/// A configuration that asks a LAPI which is not there.
const NOBODY: &str = "crowdsec: {api_url: 'http://127.0.0.1:9', api_key: {file: none}}";

/// A file with the key of a scripted LAPI, which takes any.
fn key(net: &Net) -> PathBuf {
    let key = net.home().write("key", "sesame\n");
    give_to_daemon(&key);
    key
}

/// A configuration that asks this LAPI four times a second.
fn config(url: &str, key: &Path, more: &str) -> String {
    format!(
        "crowdsec: {{api_url: '{url}', api_key: {{file: '{}'}}, update_frequency: 250ms{more}}}",
        key.display()
    )
}

/// What `status` says about CrowdSec, and its exit code.
fn status(net: &Net) -> (Value, Option<i32>) {
    let told = net.filterd(["crowdsec", "status", "--json"]);
    (told.json()["crowdsec"][0].clone(), told.code())
}

/// Waits until `status` says so.
#[track_caller]
fn wait_for(net: &Net, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    let begun = Instant::now();
    loop {
        let (told, _) = status(net);
        if is_so(&told) {
            return told;
        }
        assert!(begun.elapsed() < Duration::from_secs(240), "{what}: {told}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until so many decisions hold, and all are enforced.
#[track_caller]
fn enforced(net: &Net, decisions: u64) -> Value {
    let are_all = |told: &Value| told["decided"] == decisions && told["enforced"] == decisions;
    wait_for(net, &format!("{decisions} decisions are enforced"), |told| {
        are_all(told) && told["connected_since"].is_u64()
    })
}

/// Waits until another answer has come after this moment.
#[track_caller]
fn one_more_answer(net: &Net, lapi: &harness::lapi::ScriptedLapi) {
    lapi.streams();
    let begun = Instant::now();
    let mut answers = 0;
    while answers < 2 {
        answers += lapi.streams().len();
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "it is not asked: {}",
            net.filterd(["crowdsec", "status"])
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}
