//! Defines the keys of the configuration, parses their values and checks them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use filter_common::direction::Direction;
use filter_common::labels::Counters;
use filter_common::target::{Span, Target};

use super::chosen;
use super::crowdsec;
use super::feed;
use super::forms;
use super::limits::{entries, ipv6_prefix, share, ttl};
use super::metrics;
use super::nearest::nearest;
use super::path;
use super::ports;
use super::raw::{Node, YamlValue};
use super::shape::{MapKey, ValueFault, ValueFaults, kind, truth};
use super::{
    AS_GIVEN, Config, Feed, ListConfig, ListName, LiveList, Matches, Mode, OnExit, check_interface_name,
};
use crate::source::{Format, Limits, ReadOptions, SpecialRanges};
use crate::text::printable::excerpt;

const KEYS: [MapKey<Config>; 13] = [
    MapKey { name: "interfaces", take: interfaces },
    MapKey { name: "mode", take: mode },
    MapKey { name: "enforce", take: enforce },
    MapKey { name: "counters", take: counters },
    MapKey { name: "match", take: matches },
    MapKey { name: "outbound_errors", take: outbound_errors },
    MapKey {
        name: "block",
        take: |faults, node, config| targets(faults, node, "`block`", &mut config.block),
    },
    MapKey {
        name: "allow",
        take: |faults, node, config| targets(faults, node, "`allow`", &mut config.allow),
    },
    MapKey { name: "lists", take: lists },
    MapKey { name: "crowdsec", take: crowdsec::crowdsec },
    MapKey { name: "metrics", take: metrics::metrics },
    MapKey { name: "durable", take: durable },
    MapKey { name: "on_exit", take: on_exit },
];

const LIST_KEYS: [MapKey<ListDraft>; 26] = [
    MapKey { name: "name", take: name },
    MapKey { name: "path", take: list_path },
    MapKey { name: "country", take: |faults, node, draft| draft.chosen.countries(faults, node) },
    MapKey { name: "asn", take: |faults, node, draft| draft.chosen.autonomous(faults, node) },
    MapKey { name: "database", take: |faults, node, draft| draft.chosen.database(faults, node) },
    MapKey { name: "ttl", take: |faults, node, draft| ttl(faults, node, &mut draft.ttl) },
    MapKey {
        name: "ipv6_prefix",
        take: |faults, node, draft| ipv6_prefix(faults, node, &mut draft.ipv6_prefix),
    },
    MapKey { name: "allow", take: allows },
    MapKey { name: "direction", take: direction },
    MapKey {
        name: "max_shrink",
        take: |faults, node, draft| share(faults, node, "`max_shrink`", &mut draft.limits.max_shrink),
    },
    MapKey {
        name: "max_rejected",
        take: |faults, node, draft| share(faults, node, "`max_rejected`", &mut draft.limits.max_rejected),
    },
    MapKey {
        name: "max_entries",
        take: |faults, node, draft| {
            entries(faults, node, "`max_entries`", 1, &mut draft.limits.max_entries);
        },
    },
    MapKey {
        name: "min_entries",
        take: |faults, node, draft| {
            entries(faults, node, "`min_entries`", 0, &mut draft.limits.min_entries);
        },
    },
    MapKey { name: "format", take: |faults, node, draft| forms::format(faults, node, &mut draft.how) },
    MapKey { name: "column", take: |faults, node, draft| forms::column(faults, node, &mut draft.how) },
    MapKey { name: "min_score", take: |faults, node, draft| forms::min_score(faults, node, &mut draft.how) },
    MapKey { name: "include_special", take: include_special },
    MapKey { name: "ports", take: |faults, node, draft| ports::only(faults, node, &mut draft.ports) },
    MapKey {
        name: "except_ports",
        take: |faults, node, draft| ports::except(faults, node, &mut draft.ports),
    },
    MapKey { name: "include_wide", take: include_wide },
    MapKey { name: "url", take: |faults, node, draft| feed::url(faults, node, &mut draft.feed) },
    MapKey { name: "refresh", take: |faults, node, draft| feed::refresh(faults, node, &mut draft.feed) },
    MapKey { name: "timeout", take: |faults, node, draft| feed::timeout(faults, node, &mut draft.feed) },
    MapKey { name: "auth", take: |faults, node, draft| feed::auth(faults, node, &mut draft.feed) },
    MapKey { name: "insecure", take: |faults, node, draft| feed::insecure(faults, node, &mut draft.feed) },
    MapKey {
        name: "allow_private",
        take: |faults, node, draft| feed::allow_private(faults, node, &mut draft.feed),
    },
];

/// All keys in all sections.
#[cfg(test)]
pub fn keys() -> Vec<&'static str> {
    let own = KEYS.iter().map(|key| key.name).chain(LIST_KEYS.iter().map(|key| key.name));
    own.chain(metrics::keys()).chain(feed::keys()).chain(crowdsec::keys()).collect()
}

/// The keys that a list needs.
const NEEDED: [&str; 2] = ["name", "path"];

/// More lists than anyone names. Each one costs memory, a row of the status, and time at each reload.
pub const MOST_LISTS: usize = 1000;

const LIST_EXAMPLE: &str = "write {name: drop, path: lists/drop.txt}";

const ON_EXIT: [(&str, OnExit); 2] = [("detach", OnExit::Detach), ("keep", OnExit::Keep)];

const COUNTERS: [(&str, Counters); 2] = [("total", Counters::Total), ("lists", Counters::Lists)];
const MATCHES: [(&str, Matches); 2] = [("all", Matches::All), ("new", Matches::New)];

const MODES: [(&str, Mode); 4] =
    [("auto", Mode::Auto), ("native", Mode::Native), ("tc", Mode::Tc), ("generic", Mode::Generic)];

/// Returns the valid part of the document, and all faults in it. Relative paths are resolved against
/// `folder`.
pub fn check(root: Option<Node>, folder: &Path) -> (Config, Vec<ValueFault>) {
    let (mut config, mut faults) = (Config::default(), ValueFaults::default());
    match root.map(|root| (root.number, root.value)) {
        // The text is not YAML, which was reported before.
        None => {}
        // A file that was emptied by accident must not mean that nothing is filtered.
        Some((node, YamlValue::Nothing)) => nothing(&mut faults, node),
        Some((node, YamlValue::Map(map))) if map.is_empty() => nothing(&mut faults, node),
        Some((_, YamlValue::Map(map))) => {
            faults.fields(map, &KEYS, &mut config);
        }
        Some((node, other)) => {
            let message = format!("a configuration is a map of keys, not {}", kind(&other));
            faults.tell(node, message, "begin with a key, as in `interfaces: [eth0]`");
        }
    }
    for list in &mut config.lists {
        match &mut list.feed {
            Some(feed) => feed.relate_to(folder),
            None => list.path = folder.join(&list.path),
        }
        if let Some(database) = &mut list.how.database {
            Arc::make_mut(database).paths.iter_mut().for_each(|path| *path = folder.join(&*path));
        }
    }
    config.crowdsec.iter_mut().for_each(|lapi| lapi.relate_to(folder));
    (config, faults.0)
}

fn nothing(faults: &mut ValueFaults, node: usize) {
    let help = "write what to filter, as in `interfaces: [eth0]`, or `interfaces: []` to use --iface";
    faults.tell(node, "this configuration is empty", help);
}

fn interfaces(faults: &mut ValueFaults, node: Node, config: &mut Config) {
    let mut said = HashMap::new();
    for item in faults.items(node, "`interfaces`") {
        let Some(word) = faults.text(item, "the name of an interface") else { continue };
        if let Err(error) = check_interface_name(&word.text) {
            faults.tell(word.node, error.to_string(), error.hint());
        } else if faults.first(&mut said, &word.text, word.node) {
            config.interfaces.push(word.text);
        }
    }
}

fn mode(faults: &mut ValueFaults, node: Node, config: &mut Config) {
    let Some(word) = faults.text(node, "`mode`") else { return };
    if let Some((_, mode)) = MODES.iter().find(|(name, _)| *name == word.text) {
        config.mode = *mode;
        return;
    }
    let meant = match word.text.as_str() {
        "skb" | "xdpgeneric" => Some("tc"),
        "drv" | "driver" | "xdpdrv" => Some("native"),
        other => nearest(other, MODES.map(|(name, _)| name)),
    };
    let help = meant.map_or("use auto, native or tc".into(), |meant| format!("did you mean {meant}?"));
    faults.tell(word.node, format!("there is no mode `{}`", excerpt(&word.text)), help);
}

fn enforce(faults: &mut ValueFaults, node: Node, config: &mut Config) {
    let meaning = "write true to drop packets, false to only count them";
    config.enforce = truth(faults, node, "`enforce`", meaning).unwrap_or(config.enforce);
}

fn counters(faults: &mut ValueFaults, node: Node, config: &mut Config) {
    let chosen = choice(faults, node, "counters", COUNTERS, "use lists or total");
    config.counters = chosen.map_or(config.counters, |(counters, _)| counters);
}

fn durable(faults: &mut ValueFaults, node: Node, config: &mut Config) {
    let meaning = "write true to answer after it is on disk, false to answer before";
    config.durable = truth(faults, node, "`durable`", meaning).unwrap_or(config.durable);
}

fn matches(faults: &mut ValueFaults, node: Node, config: &mut Config) {
    let help = "use all (drop every packet of a blocked source) or new (except replies to this host)";
    let chosen = choice(faults, node, "match", MATCHES, help);
    config.matches = chosen.map_or(config.matches, |(matches, _)| matches);
}

fn outbound_errors(faults: &mut ValueFaults, node: Node, config: &mut Config) {
    let meaning = "write false if calls that send to blocked addresses should not fail at once";
    if let Some(truth) = truth(faults, node, "`outbound_errors`", meaning) {
        config.outbound_errors = truth;
    }
}

fn on_exit(faults: &mut ValueFaults, node: Node, config: &mut Config) {
    let chosen = choice(faults, node, "on_exit", ON_EXIT, "use detach or keep");
    config.on_exit = chosen.map_or(config.on_exit, |(on_exit, _)| on_exit);
}

/// The value that a word stands for, and the node of the word. `help` lists the words.
fn choice<T: Copy, const COUNT: usize>(
    faults: &mut ValueFaults,
    node: Node,
    key: &str,
    choices: [(&'static str, T); COUNT],
    help: &str,
) -> Option<(T, usize)> {
    let word = faults.text(node, &format!("`{key}`"))?;
    if let Some((_, value)) = choices.iter().find(|(name, _)| *name == word.text) {
        return Some((*value, word.node));
    }
    let meant = nearest(&word.text, choices.map(|(name, _)| name));
    let help = meant.map_or_else(|| help.to_owned(), |meant| format!("did you mean {meant}?"));
    faults.tell(word.node, format!("`{key}` cannot be `{}`", excerpt(&word.text)), help);
    None
}

fn targets(faults: &mut ValueFaults, node: Node, subject: &str, targets: &mut Vec<Target>) {
    for item in faults.items(node, subject) {
        if let Some(address) = address_taken_for_a_key(&item.value) {
            let message = format!("YAML reads {address} as a key, because it ends with a colon");
            faults.tell(item.number, message, format!("put it in quotes: \"{address}\""));
            continue;
        }
        let Some(word) = faults.text(item, "an address, prefix or range") else { continue };
        match word.text.parse::<Span>() {
            Ok(span) => targets.extend(span),
            Err(error) => {
                let subject = if word.text.is_empty() { "this".into() } else { excerpt(&word.text) };
                faults.tell(word.node, format!("{subject} {}", error.fault()), error.hint().to_string());
            }
        }
    }
}

/// A line that ends in `fe80::` means `{"fe80:": null}`.
fn address_taken_for_a_key(value: &YamlValue) -> Option<String> {
    let YamlValue::Map(entries) = value else { return None };
    let [(Node { value: YamlValue::Text(key), .. }, Node { value: YamlValue::Nothing, .. })] = &entries[..]
    else {
        return None;
    };
    let address = format!("{key}:");
    address.parse::<Span>().is_ok().then_some(address)
}

/// A list before all its keys were checked.
#[derive(Default)]
struct ListDraft {
    name: Option<(ListName, usize)>,
    path: Option<PathBuf>,
    chosen: chosen::DatabaseKeys,
    allows: bool,
    limits: Limits,
    how: ReadOptions,
    ttl: Option<Duration>,
    ports: ports::PortKeys,
    direction: Option<(Direction, usize)>,
    feed: feed::FeedKeys,
    ipv6_prefix: Option<u8>,
}

/// The keys of a live list, which commands fill and which has no file.
const LIVE_KEYS: [&str; 2] = ["name", "ipv6_prefix"];

/// The list that commands use if they do not name one.
const DEFAULT_LIVE: &str = "manual";

fn lists(faults: &mut ValueFaults, node: Node, config: &mut Config) {
    let mut names = HashMap::new();
    let items = faults.items(node, "`lists`");
    if let Some(beyond) = items.get(MOST_LISTS) {
        let message = format!("this is list {}, but at most {MOST_LISTS} are allowed", MOST_LISTS + 1);
        faults.tell(beyond.number, message, "put several lists into one file");
        return;
    }
    for item in items {
        let YamlValue::Map(map) = item.value else {
            let message = format!("a list must be a map of keys, not {}", kind(&item.value));
            faults.tell(item.number, message, LIST_EXAMPLE);
            continue;
        };
        let mut draft = ListDraft::default();
        let said = faults.fields(map, &LIST_KEYS, &mut draft);
        let is_live =
            said.contains_key("ipv6_prefix") && said.keys().all(|key| LIVE_KEYS.contains(&key.as_ref()));
        let is_feed = said.contains_key("url");
        let is_chosen = chosen::KEYS.iter().any(|key| said.contains_key(*key));
        let is_needed = |name: &&&str| !((is_live || is_chosen || is_feed) && **name == "path");
        for name in NEEDED.iter().filter(is_needed).filter(|name| !said.contains_key(**name)) {
            faults.tell(item.number, format!("this list has no `{name}`"), LIST_EXAMPLE);
        }
        let ports = draft.ports.check(draft.allows, faults);
        if is_feed && said.contains_key("path") {
            let help = "write only one: fetched lists are kept in the state directory";
            faults.tell(item.number, "this list has both `path` and `url`", help);
        }
        let has_path = draft.path.is_some() || is_feed;
        let database = if is_chosen {
            let refresh = draft.feed.refresh_alone();
            draft.chosen.check(item.number, has_path, refresh, faults)
        } else {
            None
        };
        let feed = draft.feed.check(faults);
        draft.limits.is_fetched = feed.is_some();
        draft.limits.may_begin_empty = feed.is_none() || said.contains_key("min_entries");
        draft.limits.may_choose_nothing = is_chosen && said.contains_key("min_entries");
        let path = feed.as_ref().map(Feed::shown).or(draft.path);
        if let Some((clause, node)) = ports {
            ports::must_be_few(faults, config, clause, node);
        }
        let ports = ports.map(|(clause, _)| clause);
        let direction = checked_direction(faults, draft.direction, (draft.allows, ports.is_some()));
        let Some((name, node)) = draft.name else { continue };
        if name.as_str() == DEFAULT_LIVE && !is_live {
            faults.tell(node, format!("the name `{name}` is reserved"), "choose another name");
            continue;
        }
        if draft.allows && draft.ipv6_prefix.is_some() {
            let message = format!("list `{name}` allows, and allowed entries are never widened");
            faults.tell(item.number, message, "remove `ipv6_prefix`, or name the prefixes in the list");
        }
        forms::must_fit(faults, &name, &draft.how, item.number);
        if is_chosen && draft.how.is_about_form() {
            let message = format!("list `{name}` is from a database, which has its own format");
            faults.tell(item.number, message, "remove `format`, `column` and `min_score`");
        }
        if draft.limits.min_entries > draft.limits.max_entries {
            let message = format!("list `{name}` has a `min_entries` larger than its `max_entries`");
            faults.tell(item.number, message, "lower `min_entries`, or raise `max_entries`");
        }
        let ipv6_prefix = draft.ipv6_prefix.unwrap_or(AS_GIVEN);
        if is_live && faults.first(&mut names, name.as_str(), node) {
            config.live.push(LiveList { name, ipv6_prefix });
            continue;
        }
        if faults.first(&mut names, name.as_str(), node)
            && let Some(path) = path.or_else(|| Some(database.as_ref()?.path().to_owned()))
        {
            // Sources that must pass may well be private.
            let special = if draft.allows { SpecialRanges::INCLUDED } else { draft.how.special };
            let ListDraft { allows, limits, how, ttl, .. } = draft;
            let format = database.as_ref().map_or(how.format, |_| Some(Format::Plain));
            let how = ReadOptions { special, format, database: database.map(Arc::new), allows, ..how };
            config.lists.push(ListConfig {
                name,
                path,
                feed,
                allows,
                limits,
                how,
                ttl,
                ports,
                direction,
                ipv6_prefix,
            });
        }
    }
}

fn name(faults: &mut ValueFaults, node: Node, draft: &mut ListDraft) {
    let Some(word) = faults.text(node, "the name of a list") else { return };
    match word.text.parse::<ListName>() {
        Ok(name) if name.is_reserved() && name.as_str() != DEFAULT_LIVE => {
            let (why, help) = match name.reserved_prefix() {
                Some(prefix) => (
                    format!(": lists of {} begin with `{prefix}`", prefix.owner()),
                    format!("choose a name that does not begin with `{prefix}`"),
                ),
                None => (String::new(), "choose another name".to_owned()),
            };
            faults.tell(word.node, format!("the name `{name}` is reserved{why}"), help);
        }
        Ok(name) => draft.name = Some((name, word.node)),
        Err(error) => faults.tell(word.node, error.to_string(), error.hint()),
    }
}

fn include_special(faults: &mut ValueFaults, node: Node, draft: &mut ListDraft) {
    let meaning = "write true to block private, loopback and other special ranges in the list";
    if let Some(truth) = truth(faults, node, "`include_special`", meaning) {
        draft.how.special.included = truth;
    }
}

fn include_wide(faults: &mut ValueFaults, node: Node, draft: &mut ListDraft) {
    let meaning = "write true to block prefixes shorter than /8, or than /16 of IPv6, in the list";
    draft.how.special.wide = truth(faults, node, "`include_wide`", meaning).unwrap_or(draft.how.special.wide);
}

fn allows(faults: &mut ValueFaults, node: Node, draft: &mut ListDraft) {
    let meaning = "write true for a list to allow, false for a list to block";
    draft.allows = truth(faults, node, "`allow` of a list", meaning).unwrap_or(draft.allows);
}

fn direction(faults: &mut ValueFaults, node: Node, draft: &mut ListDraft) {
    let directions = Direction::ALL.map(|direction| (direction.name(), direction));
    let help = "use in (packets from the listed addresses), out (packets to them) or both";
    if let Some(chosen) = choice(faults, node, "direction", directions, help) {
        draft.direction = Some(chosen);
    }
}

/// The direction of a list, which must fit its other keys.
fn checked_direction(
    faults: &mut ValueFaults,
    said: Option<(Direction, usize)>,
    (allows, has_ports): (bool, bool),
) -> Direction {
    let Some((direction, node)) = said else { return Direction::In };
    if allows {
        let help = "remove it: allowed addresses pass in both directions";
        faults.tell(node, "a list that allows cannot have a `direction`", help);
    } else if has_ports && direction.is_outbound() {
        let message = format!("a list with `direction: {}` cannot have ports", direction.name());
        faults.tell(node, message, "remove `ports`: packets to a listed address are dropped on all ports");
    }
    direction
}

fn list_path(faults: &mut ValueFaults, node: Node, draft: &mut ListDraft) {
    if let Some(word) = faults.text(node, "the path of a list") {
        draft.path = path::path(faults, word, "the path of a list").or(draft.path.take());
    }
}
