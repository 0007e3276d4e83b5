//! The plain reference: every list as a table of targets, each with the time at which it ends. No cleverness.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::heldback::{Copy, Row};
use super::packets::{Packet, USUAL};
use super::ports::Ports;
use super::prefix::{Prefix, ip};
use super::wanted::{During, Lease, Wanted};
use crate::{GATEWAY, GATEWAY6, HOST, HOST6};

/// What the host of every story needs: its addresses and gateways.
const NEEDED: [&str; 6] = [HOST, HOST6, GATEWAY, GATEWAY6, "127.0.0.1", "::1"];

/// Lists of the configuration, of one kind each.
pub type Lists = BTreeMap<String, Wanted>;

/// All that a configuration says of targets.
#[derive(Clone, Debug, Default)]
pub struct Configured {
    /// What blocks, its own `block` among it.
    pub blocked: Lists,
    /// What allows, its own `allow` among it.
    pub allowed: Lists,
    /// How far lists reach that commands fill, where it is said.
    pub reach: BTreeMap<String, u8>,
    /// Lists of which nothing could ever be read.
    pub unread: BTreeSet<String>,
    /// What was accepted of each list, under its name.
    pub rows: BTreeMap<String, Row>,
    /// Lists whose files are missing or refused.
    pub doubted: BTreeSet<String>,
}

impl Configured {
    /// All its lists.
    fn read_mut(&mut self) -> impl Iterator<Item = &mut Wanted> {
        self.blocked.values_mut().chain(self.allowed.values_mut())
    }

    /// The entries of this list may count from now on.
    pub fn may_begin_anew(&mut self, list: &str, during: During) {
        let lists = [&mut self.blocked, &mut self.allowed];
        lists
            .into_iter()
            .filter_map(|lists| lists.get_mut(list))
            .for_each(|list| list.may_begin_anew(during));
    }

    /// A copy that is whole is whole for all lists with the same bytes.
    pub fn repair_copies(&mut self) {
        let whole: BTreeSet<_> =
            self.rows.values().filter(|row| row.copy == Copy::Whole).filter_map(|row| row.id).collect();
        let others = self.rows.values_mut().filter(|row| row.id.is_some_and(|id| whole.contains(&id)));
        others.for_each(|row| row.copy = Copy::Whole);
    }

    /// So much of everybody's time is over at once.
    pub fn lose(&mut self, seconds: f64) {
        self.read_mut().for_each(|wanted| wanted.lose(seconds));
        self.rows.values_mut().for_each(|row| row.lose(seconds));
    }
}

/// All lists, and what becomes of what they want.
#[derive(Clone, Debug)]
pub struct Reference {
    /// What the configuration says.
    pub configured: Configured,
    /// What was added live.
    pub live: Lists,
    /// What was allowed live.
    pub allowed: Lists,
    /// What this host needs, which nobody blocks.
    pub guarded: Wanted,
    /// Is anybody dropped, or only counted?
    pub enforce: bool,
    /// How long that is paused.
    pub pause: Lease,
}

impl Reference {
    /// Nothing is wanted.
    pub fn new() -> Self {
        let (configured, live, allowed) = (Configured::default(), BTreeMap::new(), BTreeMap::new());
        let needed = NEEDED.map(|needed| Prefix::of(needed.parse().expect("it is an address")));
        let guarded = Wanted::all(&needed);
        Self { configured, live, allowed, guarded, enforce: true, pause: Lease::NEVER }
    }

    /// Are usual packets from there dropped all that time? None if nobody can know.
    pub fn drops(&self, source: IpAddr, during: During) -> Option<bool> {
        self.drops_packet((source, USUAL), during)
    }

    /// Is such a packet dropped all that time?
    pub fn drops_packet(&self, packet: Packet, during: During) -> Option<bool> {
        self.drops_if(self.is_listed(packet, during), during)
    }

    /// Are packets from there to some port dropped?
    pub fn drops_some(&self, source: IpAddr, during: During) -> Option<bool> {
        self.drops_if(self.is_wanted(source, |_| true, during), during)
    }

    /// Are packets from there dropped, whatever port they are sent to?
    pub fn drops_all(&self, source: IpAddr, during: During) -> Option<bool> {
        self.drops_if(self.is_wanted(source, |ports| ports == Ports::All, during), during)
    }

    fn drops_if(&self, is_listed: Option<bool>, during: During) -> Option<bool> {
        match (self.enforce, self.pause.holds(during), is_listed) {
            (false, _, _) | (_, Some(true), _) | (_, _, Some(false)) => Some(false),
            (true, Some(false), Some(true)) => Some(true),
            (true, None, _) | (true, _, None) => None,
        }
    }

    /// Would they be dropped, if anybody were?
    pub fn is_listed(&self, (source, sent): Packet, during: During) -> Option<bool> {
        self.is_wanted(source, |ports| ports.want(sent), during)
    }

    /// Does a list want them dropped that blocks on such ports, and nobody allows it?
    fn is_wanted(&self, source: IpAddr, on: impl Fn(Ports) -> bool, during: During) -> Option<bool> {
        let of = |(_, lease)| lease;
        let lists = self.lists().filter(|(_, wanted)| on(wanted.ports));
        let blocked = any(lists.flat_map(|(_, wanted)| wanted.covering(source)).map(of), during);
        let allow = self.lists_that_allow().map(|(_, wanted)| wanted).chain([&self.guarded]);
        let allowed = any(allow.flat_map(|wanted| wanted.covering(source)).map(of), during);
        match (blocked, allowed) {
            (Some(false), _) | (_, Some(true)) => Some(false),
            (Some(true), Some(false)) => Some(true),
            (None, _) | (_, None) => None,
        }
    }

    /// Is this very target allowed by any list, or guarded, all that time?
    pub fn allows(&self, target: Prefix, during: During) -> Option<bool> {
        let lists = self.lists_that_allow().map(|(_, wanted)| wanted).chain([&self.guarded]);
        any(lists.filter_map(|wanted| wanted.lease(target)), during)
    }

    /// Is all of this target allowed, as itself or as part of a wider one?
    pub fn allows_all_of(&self, target: Prefix, during: During) -> Option<bool> {
        let first = ip(target.is_six, target.first);
        let wide = self.lists_that_allow().flat_map(|(_, wanted)| wanted.covering(first));
        any(wide.filter(|(found, _)| found.covers(target)).map(|(_, lease)| lease), during)
    }

    /// Is all of this what this host needs?
    pub fn guards(&self, target: Prefix) -> bool {
        let Prefix { is_six, first, .. } = target;
        let addresses = target.last() - first;
        let guards = |offset| self.guarded.lease(Prefix::host(is_six, first + offset)).is_some();
        // Nobody needs more addresses in a row.
        addresses < 8 && (0..=addresses).all(guards)
    }

    /// A live list that allows, as it is or empty.
    pub fn allowed_mut(&mut self, name: &str) -> &mut Wanted {
        self.allowed.entry(name.to_owned()).or_default()
    }

    /// Is this very prefix blocked on all ports for the sake of any list all that time?
    pub fn wants(&self, effect: Prefix, during: During) -> Option<bool> {
        let lists = self.lists().filter(|(_, wanted)| wanted.ports == Ports::All);
        any(lists.flat_map(|(_, wanted)| wanted.leases_of_effect(effect)), during)
    }

    /// Does a list block on some ports only?
    pub fn has_ports(&self) -> bool {
        self.lists().any(|(_, wanted)| wanted.ports != Ports::All)
    }

    /// Is all of this target blocked on all ports, as itself or as part of a wider one?
    pub fn covers(&self, target: Prefix, during: During) -> Option<bool> {
        let first = ip(target.is_six, target.first);
        let lists = self.lists().filter(|(_, wanted)| wanted.ports == Ports::All);
        let wide = lists.flat_map(|(_, wanted)| wanted.covering(first));
        any(wide.filter(|(found, _)| found.covers(target)).map(|(_, lease)| lease), during)
    }

    /// Who wants packets from there dropped, and who allows them, in words.
    pub fn reasons(&self, source: IpAddr) -> String {
        let blocks = self.lists().map(|(name, wanted)| ("", name.as_str(), wanted));
        let allows = self.lists_that_allow().map(|(name, wanted)| ("allowed by ", name.as_str(), wanted));
        let those = blocks.chain(allows).chain([("allowed by ", "guard", &self.guarded)]);
        let those = those.flat_map(|(does, name, wanted)| {
            wanted.covering(source).map(move |(target, lease)| {
                let ports = wanted.ports;
                format!(
                    "{does}{target} of list {name} on {ports:?} ({:.1} to {:.1} s)",
                    lease.surely, lease.perhaps
                )
            })
        });
        let those: Vec<_> = those.collect();
        if those.is_empty() { "nobody".to_owned() } else { those.join(", ") }
    }

    /// Every list that blocks, with its name. A live one on which nothing is any more is forgotten, and the configuration may
    /// have taken its name.
    pub fn lists(&self) -> impl Iterator<Item = (&String, &Wanted)> + '_ {
        let configured = &self.configured;
        let is_free =
            |name: &String| !configured.blocked.contains_key(name) && !configured.allowed.contains_key(name);
        configured.blocked.iter().chain(self.live.iter().filter(move |(name, _)| is_free(name)))
    }

    /// Every list that allows.
    pub fn lists_that_allow(&self) -> impl Iterator<Item = (&String, &Wanted)> + '_ {
        self.configured.allowed.iter().chain(&self.allowed)
    }

    /// A live list, as it is or empty.
    pub fn live_mut(&mut self, name: &str) -> &mut Wanted {
        let reach = self.configured.reach.get(name).copied();
        let new = || reach.map_or_else(Wanted::default, |reach| Wanted::default().reaching(reach));
        self.live.entry(name.to_owned()).or_insert_with(new)
    }

    /// This is configured from here on.
    pub fn configure(&mut self, configured: Configured) {
        for (name, wanted) in &mut self.live {
            let [before, after] =
                [&self.configured, &configured].map(|configured| configured.reach.get(name).copied());
            if before != after {
                *wanted = std::mem::take(wanted).reaching(after.unwrap_or(super::wanted::AS_GIVEN));
            }
        }
        self.configured = configured;
    }

    /// For lists of files, whose time may begin anew with a filterd that knows of them by their copies only.
    pub fn may_begin_anew(&mut self, during: During) {
        self.configured.read_mut().for_each(|wanted| wanted.may_begin_anew(during));
    }

    /// For everybody who has an end, so much time is over at once.
    pub fn lose(&mut self, seconds: f64) {
        self.configured.lose(seconds);
        self.live.values_mut().chain(self.allowed.values_mut()).for_each(|wanted| wanted.lose(seconds));
    }
}

impl Default for Reference {
    fn default() -> Self {
        Self::new()
    }
}

/// True if one of them holds, false if none does, nothing if it depends on one of which nobody knows.
fn any(leases: impl Iterator<Item = Lease>, during: During) -> Option<bool> {
    let mut unknown = false;
    for lease in leases {
        match lease.holds(during) {
            Some(true) => return Some(true),
            Some(false) => {}
            None => unknown = true,
        }
    }
    if unknown { None } else { Some(false) }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const SOURCE: Prefix = Prefix { is_six: false, first: 0xcb00_7107, length: 32 };

    #[test]
    fn target_drops_while_any_list_wants_it() {
        let mut reference = Reference::new();
        let (source, now) = (ip(false, SOURCE.first), During(1.0, 2.0));
        assert_eq!(reference.drops(source, now), Some(false));
        reference.live_mut("ssh").add(Prefix::around(false, SOURCE.first, 24), Lease::PERMANENT);
        reference.configured.blocked.insert("drop".to_owned(), Wanted::all(&[SOURCE]));
        assert_eq!((reference.drops(source, now), reference.covers(SOURCE, now)), (Some(true), Some(true)));
        reference.configured.blocked.clear();
        assert_eq!((reference.drops(source, now), reference.wants(SOURCE, now)), (Some(true), Some(false)));
        reference.pause = Lease::of(During(0.0, 1.0), Some(Duration::from_secs(10)));
        assert_eq!(reference.drops(source, now), Some(false));
        reference.pause = Lease::NEVER;
        reference.enforce = false;
        assert_eq!(reference.drops(source, now), Some(false));
        assert_eq!(reference.is_listed((source, USUAL), now), Some(true));
    }

    #[test]
    fn allowed_or_guarded_sources_pass() {
        let mut reference = Reference::new();
        let (source, now) = (ip(false, SOURCE.first), During(1.0, 2.0));
        reference.live_mut("ssh").add(Prefix::around(false, SOURCE.first, 8), Lease::PERMANENT);
        reference
            .allowed_mut("office")
            .add(SOURCE, Lease::of(During(1.0, 1.0), Some(Duration::from_secs(60))));
        assert_eq!(
            (reference.drops(source, now), reference.allows_all_of(SOURCE, now)),
            (Some(false), Some(true))
        );
        assert_eq!(reference.drops(source, During(60.0, 62.0)), None, "around the end nobody is sure");
        assert_eq!(reference.drops(source, During(100.0, 101.0)), Some(true));
        reference.guarded.add(SOURCE, Lease::PERMANENT);
        assert_eq!(reference.drops(source, During(100.0, 101.0)), Some(false));
    }
}
