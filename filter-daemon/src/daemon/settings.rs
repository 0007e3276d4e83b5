//! Describes the settings that differ between two configurations, for the report of a reload.

use std::collections::BTreeSet;

use filter_common::labels::Counters;

use crate::config::{AS_GIVEN, Config, ListConfig, ListName, Matches, Mode};
use crate::control::wire::reload::Renamed;
use crate::source::Limits;
use crate::source::trouble::Phrasing;
use crate::text::printable;

/// Facts about the reload.
pub struct ReloadContext<'a> {
    /// Whether the reload happened or is only predicted.
    pub mood: Phrasing,
    /// It restores an earlier configuration, whose entries keep their time.
    pub restores: bool,
    /// Lists that continue under another name.
    pub renamed: &'a [Renamed],
    /// Lists that stay as they were. For those with `true`, only the time that entries stay is compared.
    pub held_back: Vec<(&'a str, bool)>,
}

impl ReloadContext<'_> {
    fn since(&self) -> &'static str {
        match self.mood {
            Phrasing::Is => "from now on",
            Phrasing::Would => "from then on",
        }
    }

    /// The earlier name of a list that continues. A new list may have the name of a list that is removed or
    /// renamed.
    fn name_before<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        let was = self.renamed.iter().find(|list| list.to == name).map(|list| list.from.as_str());
        was.or_else(|| self.renamed.iter().all(|list| list.from != name).then_some(name))
    }
}

/// Reported for a `mode` other than the one that filterd started with.
pub const MODE_WAITS: &str = "mode: interfaces stay attached as they are until filterd restarts";

/// Reported when `mode` returns to the value that filterd started with.
pub fn mode(mode: Mode, mood: Phrasing) -> String {
    let now = if mood == Phrasing::Is { " now" } else { "" };
    format!("mode: {}{now}, with which filterd has started", mode.name())
}

/// Describes changed settings other than `enforce` and `mode`.
pub fn changed(before: &Config, after: &Config, reload: &ReloadContext<'_>) -> Vec<String> {
    let mood = reload.mood;
    let now = match mood {
        Phrasing::Is => " now",
        Phrasing::Would => "",
    };
    let told = [
        (before.counters != after.counters).then(|| match after.counters {
            Counters::Total => format!("counters: total{now}"),
            Counters::Lists => format!("counters: lists{now}"),
        }),
        (before.matches != after.matches).then(|| {
            let what = match (after.matches, mood) {
                (Matches::All, Phrasing::Is) => {
                    "every packet of a blocked source is dropped, also replies to this host"
                }
                (Matches::All, Phrasing::Would) => {
                    "every packet of a blocked source would be dropped, also replies to this host"
                }
                (Matches::New, Phrasing::Is) => "replies to connections this host started pass",
                (Matches::New, Phrasing::Would) => "replies to connections this host started would pass",
            };
            format!("match: {}{now}, {what}", after.matches.name())
        }),
        (before.outbound_errors != after.outbound_errors).then(|| {
            let what = match (after.outbound_errors, mood) {
                (true, Phrasing::Is) => "calls that send to blocked destinations fail at once",
                (true, Phrasing::Would) => "calls that send to blocked destinations would fail at once",
                (false, Phrasing::Is) => {
                    "calls that send to blocked destinations wait, and their packets are dropped"
                }
                (false, Phrasing::Would) => {
                    "calls that send to blocked destinations would wait, and their packets would be dropped"
                }
            };
            format!("outbound_errors: {}{now}, {what}", after.outbound_errors)
        }),
        (before.durable != after.durable).then(|| format!("durable: {}{now}", after.durable)),
        (before.on_exit != after.on_exit).then(|| format!("on_exit: {}{now}", after.on_exit.name())),
        (before.metrics.listen != after.metrics.listen)
            .then(|| format!("metrics.listen: {}{now}", all(&after.metrics.listen))),
        (before.metrics.hosts != after.metrics.hosts)
            .then(|| format!("metrics.hosts: {}{now}", all(&after.metrics.hosts))),
        (before.metrics.sources != after.metrics.sources).then(|| match after.metrics.sources {
            0 => format!("metrics.sources: false{now}"),
            sources => format!("metrics.sources: {sources}{now}"),
        }),
    ];
    let order = order(before, after, reload);
    told.into_iter()
        .flatten()
        .chain(crowdsec(before, after, mood))
        .chain(order)
        .chain(lists_read_otherwise(before, after, reload))
        .collect()
}

/// Reports each CrowdSec that is followed, that is not any more, or that has other settings.
fn crowdsec(before: &Config, after: &Config, mood: Phrasing) -> Vec<String> {
    let of = |config: &Config, name: &str| config.crowdsec.iter().find(|one| one.name == name).cloned();
    let names = before.crowdsec.iter().chain(&after.crowdsec).map(|one| one.name.as_str());
    let names: BTreeSet<&str> = names.collect();
    let told = names.into_iter().filter_map(|name| {
        let what = match (of(before, name), of(after, name), mood) {
            (Some(one), Some(other), _) if one == other => return None,
            (Some(one), Some(other), mood) if one.ports != other.ports => {
                let ports = other.ports.map_or_else(|| "on all ports".to_owned(), |its| its.to_string());
                match mood {
                    Phrasing::Is => format!("blocks {ports} from now on"),
                    Phrasing::Would => format!("would block {ports}"),
                }
            }
            (Some(_), Some(_), Phrasing::Is) => "is asked with other settings".into(),
            (Some(_), Some(_), Phrasing::Would) => "would be asked with other settings".into(),
            (None, _, Phrasing::Is) => "is asked for its decisions".into(),
            (None, _, Phrasing::Would) => "would be asked for its decisions".into(),
            (Some(_), None, Phrasing::Is) => "is no longer asked".into(),
            (Some(_), None, Phrasing::Would) => {
                "would no longer be asked, and its decisions would be released".into()
            }
        };
        Some(format!("crowdsec {name}: it {what}"))
    });
    told.collect()
}

/// Reports a changed order of continuing lists that block, because the first list of several with the same
/// target counts its packets.
fn order(before: &Config, after: &Config, reload: &ReloadContext<'_>) -> Option<String> {
    let place = |list: &ListConfig| {
        let was = reload.name_before(list.name.as_str())?;
        before.lists.iter().position(|before| before.name.as_str() == was)
    };
    let places = after.lists.iter().filter(|list| !list.allows).filter_map(place);
    let is_other = after.counters == Counters::Lists && !places.is_sorted();
    is_other.then(|| {
        let counts = if reload.mood == Phrasing::Is { "counts" } else { "would count" };
        format!(
            "lists: what several name {counts} for another one {}, for their order is another",
            reload.since()
        )
    })
}

/// Continuing lists with changed settings, such as how long entries stay or which limits apply.
fn lists_read_otherwise(before: &Config, after: &Config, reload: &ReloadContext<'_>) -> Vec<String> {
    let told = after.lists.iter().filter_map(|list| {
        let was = reload.name_before(list.name.as_str())?;
        let before = before.lists.iter().find(|before| before.name.as_str() == was)?;
        let held_back = reload.held_back.iter().find(|(name, _)| *name == list.name.as_str());
        let told = match held_back {
            None => read_otherwise(before, list, reload),
            Some((_, true)) => stays_otherwise(before, list, reload).into_iter().collect(),
            Some((_, false)) => Vec::new(),
        };
        (!told.is_empty()).then(|| format!("list {}: {}", list.name, told.join(", ")))
    });
    told.chain(live_lists_read_otherwise(before, after)).collect()
}

fn read_otherwise(before: &ListConfig, after: &ListConfig, reload: &ReloadContext<'_>) -> Vec<String> {
    // The report of a prediction lists the effect on entries separately.
    let is_told = reload.mood == Phrasing::Is;
    let since = reload.since();
    let is_moved = before.feed.is_some() != after.feed.is_some();
    // A list from a URL has `is_fetched` set and may begin empty. Both follow from its source, so they are
    // ignored.
    let limits = |list: &ListConfig| {
        let may_begin_empty = list.limits.may_begin_empty || is_moved;
        Limits { may_begin_empty, is_fetched: false, ..list.limits }
    };
    let told = [
        (is_told && before.allows != after.allows)
            .then_some(if after.allows { "allows" } else { "blocks" })
            // A change of ports is reported below.
            .filter(|_| after.allows || before.ports == after.ports)
            .map(|does| format!("{does} {since}")),
        // A list that allows does so on all ports.
        (is_told && !after.allows && before.ports != after.ports).then(|| match &after.ports {
            Some(clause) => format!("blocks {clause} {since}"),
            None => format!("blocks on all ports {since}"),
        }),
        stays_otherwise(before, after, reload),
        (before.ipv6_prefix != after.ipv6_prefix).then(|| widens(after.ipv6_prefix)),
        is_moved.then(|| {
            let from = printable::path(&after.path);
            let how = if after.feed.is_some() { "fetched" } else { "read" };
            format!("{how} from {from} {since}")
        }),
        (limits(before) != limits(after)).then(|| "other limits".to_owned()),
        // A list that changes its polarity is read differently in any case.
        (before.how != after.how && before.allows == after.allows).then(|| match after.how.to_string() {
            nothing if nothing.is_empty() => "read as any list".to_owned(),
            how => format!("read with {how}"),
        }),
        (before.feed.is_some() && after.feed.is_some() && before.feed != after.feed)
            .then(|| "fetched otherwise".to_owned()),
    ];
    told.into_iter().flatten().collect()
}

fn stays_otherwise(before: &ListConfig, after: &ListConfig, reload: &ReloadContext<'_>) -> Option<String> {
    (before.ttl != after.ttl).then(|| match after.ttl {
        Some(ttl) if reload.restores => format!("ttl {} s, as it was", ttl.as_secs()),
        Some(ttl) => format!("ttl {} s, counted anew {}", ttl.as_secs(), reload.since()),
        None => "no ttl: what is on it stays".to_owned(),
    })
}

fn live_lists_read_otherwise(before: &Config, after: &Config) -> Vec<String> {
    let names: BTreeSet<_> = before.live.iter().chain(&after.live).map(|list| &list.name).collect();
    let length = |config: &Config, name: &ListName| {
        let list = config.live.iter().find(|list| list.name == *name);
        list.map_or(AS_GIVEN, |list| list.ipv6_prefix)
    };
    let others = names.into_iter().filter(|name| length(before, name) != length(after, name));
    others.map(|name| format!("list {name}: {}", widens(length(after, name)))).collect()
}

fn all(items: &[impl ToString]) -> String {
    let items: Vec<_> = items.iter().map(ToString::to_string).collect();
    if items.is_empty() { "none".to_owned() } else { items.join(", ") }
}

fn widens(length: u8) -> String {
    match length {
        AS_GIVEN => "IPv6 is blocked as it is given".to_owned(),
        length => format!("IPv6 is widened to /{length}"),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config;

    #[test]
    fn becoming_a_feed_does_not_change_limits() {
        let (path, url) = ("path: /srv/f.txt", "url: 'https://a.example/f?key=sesame'");
        assert_eq!(told(path, url), ["list f: fetched from https://a.example/f?… from now on"]);
        assert_eq!(told(url, path), ["list f: read from /srv/f.txt from now on"]);
        let few = format!("{url}, max_entries: 7");
        assert_eq!(
            told(path, &few),
            ["list f: fetched from https://a.example/f?… from now on, other limits"]
        );
        assert_eq!(told(url, &few), ["list f: other limits"]);
    }

    #[test]
    fn allow_list_mentions_no_blocked_ports() {
        let (ports, allow) = ("path: /srv/f.txt, ports: [9]", "path: /srv/f.txt, allow: true");
        assert_eq!(told(ports, allow), ["list f: allows from now on"]);
        assert_eq!(told(allow, ports), ["list f: blocks on port 9 only from now on"]);
        assert_eq!(told(ports, "path: /srv/f.txt"), ["list f: blocks on all ports from now on"]);
        assert_eq!(told(allow, "path: /srv/f.txt"), ["list f: blocks from now on"]);
    }

    #[test]
    fn list_order_is_reported_where_counters_change() {
        let config = |names: &str, more: &str| {
            let list = |name: char| format!("{{name: {name}, path: /srv/{name}.txt}}");
            let lists: Vec<_> = names.chars().map(list).collect();
            parsed(format!("{more}\nlists: [{}]", lists.join(", ")))
        };
        let reload = |renamed| ReloadContext {
            mood: Phrasing::Would,
            restores: false,
            renamed,
            held_back: Vec::new(),
        };
        let told = |before: &str, after: &str| changed(&config(before, ""), &config(after, ""), &reload(&[]));
        let other =
            "lists: what several name would count for another one from then on, for their order is another";
        assert_eq!(told("abc", "acb"), [other]);
        for (before, after) in [("abc", "abc"), ("abc", "ac"), ("ac", "xaybzc")] {
            assert!(told(before, after).is_empty(), "{before} {after}");
        }
        let renamed = [Renamed { from: "a".into(), to: "x".into() }];
        assert_eq!(changed(&config("ab", ""), &config("bx", ""), &reload(&renamed)), [other]);
        let total = |names| config(names, "counters: total");
        assert!(changed(&total("ab"), &total("ba"), &reload(&[])).is_empty());
    }

    fn config(list: &str) -> Config {
        parsed(format!("lists: [{{name: f, {list}}}]"))
    }

    fn parsed(text: String) -> Config {
        config::parse(Path::new("/etc/filterd.yaml"), text.into()).unwrap_or_else(|error| panic!("{error}"))
    }

    fn told(before: &str, after: &str) -> Vec<String> {
        let reload =
            ReloadContext { mood: Phrasing::Is, restores: false, renamed: &[], held_back: Vec::new() };
        changed(&config(before), &config(after), &reload)
    }
}
