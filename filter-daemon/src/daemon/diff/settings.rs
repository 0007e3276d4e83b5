//! Settings that a reload would change, in words.

use std::collections::BTreeSet;

use filter_common::labels::Counters;

use crate::config::{AS_GIVEN, Config, ListName, Matches};

/// Settings beside `enforce` that would be others.
pub fn settings(now: &Config, then: &Config) -> Vec<String> {
    let told = [
        (now.mode != then.mode)
            .then(|| "mode: interfaces stay attached as they are until filterd starts anew".to_owned()),
        (now.counters != then.counters).then(|| match then.counters {
            Counters::Total => "counters: total".to_owned(),
            Counters::Lists => "counters: lists".to_owned(),
        }),
        (now.matches != then.matches).then(|| {
            let what = match then.matches {
                Matches::All => "whatever a blocked source sends would be dropped, answers to this host too",
                Matches::New => "what this host began itself would pass, whoever answers",
            };
            format!("match: {}, {what}", then.matches.name())
        }),
        (now.durable != then.durable).then(|| format!("durable: {}", then.durable)),
        (now.on_exit != then.on_exit).then(|| format!("on_exit: {}", then.on_exit.name())),
    ];
    told.into_iter().flatten().chain(lists_read_otherwise(now, then)).collect()
}

/// Lists that are called the same and of which more than their entries would be other: how long these stay, or what is
/// believed.
fn lists_read_otherwise(now: &Config, then: &Config) -> Vec<String> {
    let told = then.lists.iter().filter_map(|list| {
        let before = now.lists.iter().find(|before| before.name == list.name)?;
        let ttl = (before.ttl != list.ttl).then(|| match list.ttl {
            Some(ttl) => format!("ttl {} s, counted anew from then on", ttl.as_secs()),
            None => "no ttl: what is on it stays".to_owned(),
        });
        let limits = (before.limits != list.limits).then(|| "other limits".to_owned());
        let prefix = (before.ipv6_prefix != list.ipv6_prefix).then(|| widens(list.ipv6_prefix));
        let how = (before.how != list.how).then(|| match list.how.to_string() {
            nothing if nothing.is_empty() => "read as any list".to_owned(),
            how => format!("read with {how}"),
        });
        let told: Vec<_> = [ttl, prefix, limits, how].into_iter().flatten().collect();
        (!told.is_empty()).then(|| format!("list {}: {}", list.name, told.join(", ")))
    });
    told.chain(live_lists_read_otherwise(now, then)).collect()
}

fn live_lists_read_otherwise(now: &Config, then: &Config) -> Vec<String> {
    let names: BTreeSet<_> = now.live.iter().chain(&then.live).map(|list| &list.name).collect();
    let length = |config: &Config, name: &ListName| {
        let list = config.live.iter().find(|list| list.name == *name);
        list.map_or(AS_GIVEN, |list| list.ipv6_prefix)
    };
    let others = names.into_iter().filter(|name| length(now, name) != length(then, name));
    others.map(|name| format!("list {name}: {}", widens(length(then, name)))).collect()
}

fn widens(length: u8) -> String {
    match length {
        AS_GIVEN => "IPv6 is blocked as it is given".to_owned(),
        length => format!("IPv6 is widened to /{length}"),
    }
}
