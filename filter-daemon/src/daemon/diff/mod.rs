//! Compares the files with what is in force: the entries that a reload would change, and the peers that it
//! would cut off. The files are read outside the owner (`gather`), compared page by page, and nothing is
//! changed. `plan` says what becomes of each list, `peers` finds the peers by `sockets`, `covering` the entries
//! that cover them, and `cuts` the peers that would be cut off.

mod cuts;
mod gather;
mod guarded;
mod peers;

use std::collections::HashSet;

use filter_common::ports::Clause;
use filter_common::target::Target;

use super::core::Core;
use super::interfaces::InterfacePreview;
use super::jobs::Turn;
use super::reload::{ListFinding, Loaded};
use super::settings;
use crate::blocklist::{
    Blocklist, ListId, Meaning, Origin, PAGE, Polarity, Reach, Settings, Strictness, Targets, Timestamp,
};
use crate::clock;
use crate::config::name::CONFIG_LIST;
use crate::config::{Config, Mode};
use crate::control::wire::diff::{EntryDifference, ListDifference, MOST_ENTRIES, Reply};
use crate::control::wire::reload::HeldBack;
use crate::plan::{Contents, Continued, Lifetime, Plan, PlannedList};
use crate::source::trouble::Phrasing;
use crate::source::well_known;
#[cfg(test)]
pub use gather::gather_with;
use gather::{BlockedPackets, Peer};
pub use gather::{ComparisonInput, gather};
pub use guarded::GuardedAddresses;
#[cfg(test)]
pub use peers::{PeerRole, Peers};

/// The current state, as far as the blocklist does not know it.
pub struct CurrentState<'a> {
    /// The configuration in force.
    pub config: &'a Config,
    /// The interfaces that would be attached and detached.
    pub interfaces: InterfacePreview,
    /// The mode in which they would be attached.
    pub mode: Mode,
    /// Set if the mode would change. True if attached interfaces keep the old mode until filterd restarts.
    pub waits: Option<bool>,
    /// The end of the trial that is on, if any.
    pub on_trial_until: Option<u64>,
}

/// A comparison that is in progress.
pub struct Comparison {
    lists: Vec<ComparedList>,
    peers: Vec<Peer>,
    /// Lists whose new contents count instead of their entries in force.
    replaced: HashSet<ListId>,
    /// Lists whose existing entries would change their reach.
    reaching: Vec<(ListId, Reach)>,
    /// Lists whose existing entries would be blocked on other ports.
    turned: Vec<TurnedList>,
    drops: DropStrictness,
    reply: Reply,
}

/// A list whose existing entries would get these ports and this lifetime.
struct TurnedList {
    list: ListId,
    packets: BlockedPackets,
    lifetime: Lifetime,
}

/// How much of the traffic of listed sources is dropped.
struct DropStrictness {
    /// When the reload would have an effect: now, or at the end of a pause, which it does not end.
    from: Timestamp,
    /// At this moment, without the reload.
    now: Strictness,
    /// After the pause, without the reload.
    later: Strictness,
    /// With the reload in force.
    then: Strictness,
}

/// A list whose contents may change.
struct ComparedList {
    /// The list in force whose entries are compared.
    continues: Continued,
    targets: Targets,
    told: ListDifference,
    /// Times continue, so that expired entries do not return.
    goes_on: bool,
    /// The list stays the same unless entries are added or removed.
    is_alike: bool,
    /// The number of its targets that are on the list already.
    stay: u64,
    /// The number of new entries that many hosts need, by owner.
    needed: Vec<(String, u64)>,
}

impl Comparison {
    /// Starts to compare the files with what is in force.
    pub fn begin(read: ComparisonInput, now: CurrentState<'_>, blocklist: &Blocklist) -> Self {
        let ComparisonInput { mut loaded, peers, guarded, unseen } = read;
        let mode = mode(&now);
        let InterfacePreview { attach, detach, faults } = now.interfaces;
        let (enforced, enforces) = (blocklist.settings().enforce, loaded.config.enforce);
        let reply = Reply {
            enforce: (enforced != enforces).then_some(enforces),
            attach_mode: (!attach.is_empty()).then(|| now.mode.name().to_owned()),
            attach,
            detach,
            faults,
            settings: mode.into_iter().chain(settings(now.config, &loaded, blocklist)).collect(),
            peers: peers.len() as u64,
            on_trial_until: now.on_trial_until,
            paused_until: blocklist.settings().paused.map(clock::on_the_wall),
            guarded: guarded::tell(&guarded, blocklist),
            unseen,
            ..Reply::default()
        };
        let plan = loaded.plan(blocklist);
        // Without the reload, peers on an interface that is not filtered yet are not dropped, and during a
        // pause no packet is.
        let settings = blocklist.settings();
        let without = |settings: Settings| match reply.attach.is_empty() {
            true => settings.strictness(),
            false => Strictness::Nothing,
        };
        let drops = DropStrictness {
            from: settings.paused.map_or_else(clock::now, |until| until.max(clock::now())),
            now: without(settings),
            later: without(settings.unpaused()),
            then: plan.settings.strictness(),
        };
        let reaching = reaching(&plan, &loaded.config, blocklist);
        let mut this = Self {
            lists: Vec::new(),
            peers,
            replaced: HashSet::new(),
            reaching,
            turned: Vec::new(),
            drops,
            reply,
        };
        this.take(loaded, plan, blocklist);
        this
    }

    /// Compares page by page.
    pub async fn run(mut self, turn: &Turn<impl AsMut<Core>>) -> Reply {
        for mut list in std::mem::take(&mut self.lists) {
            self.come(&mut list, turn).await;
            self.go(&mut list, turn).await;
            self.tell(list);
        }
        let mut from = 0;
        while from < self.peers.len() {
            from = turn.page(|core| self.look_at_peers(from, core.protection.blocklist())).await;
        }
        self.reply
    }

    fn take(&mut self, loaded: Loaded, plan: Plan, blocklist: &Blocklist) {
        let rows = blocklist.lists();
        for list in loaded.lists {
            match list.found {
                ListFinding::Awaited => self.reply.not_fetched.push(list.name.to_string()),
                ListFinding::Doubted { told, .. } => {
                    let (list, since) = (list.name.to_string(), clock::now().secs());
                    self.reply.held_back.push(HeldBack { list, since, told });
                }
                ListFinding::Accepted { .. } | ListFinding::Unchanged => {}
            }
        }
        for list in plan.lists {
            self.take_list(list, blocklist);
        }
        for id in plan.gone {
            let list = rows.get(id);
            let (name, allows) = (list.called().to_string(), list.polarity == Polarity::Allow);
            let told = ListDifference { name, allows, gone: true, ..ListDifference::default() };
            self.compare(Continued::Same(id), Targets::default(), told, (false, false));
        }
    }

    fn take_list(&mut self, list: PlannedList, blocklist: &Blocklist) {
        let (is_alike, takes_over) = (list.is_alike(blocklist), list.takes_over());
        let told = difference(&list, blocklist);
        let PlannedList { meaning, continues, lifetime, contents, .. } = list;
        let packets = BlockedPackets { clause: meaning.ports, direction: meaning.direction };
        self.turned.extend(takes_over.map(|list| TurnedList { list, packets, lifetime }));
        match contents {
            Contents::Replaced(targets) => {
                self.compare(continues, targets, told, (lifetime.goes_on(), is_alike));
            }
            // All entries of the list in force leave.
            Contents::Stay | Contents::TakenOver if continues.replaced().is_some() => {
                self.compare(continues, Targets::default(), told, (false, false));
            }
            Contents::Stay | Contents::TakenOver => {
                let is_called_so = continues.alive().is_some() && told.was.is_none();
                if is_called_so && told.ports_before.is_none() && told.direction_before.is_none() {
                    self.reply.unchanged += u64::from(is_alike);
                } else {
                    self.reply.lists.push(told);
                }
            }
        }
    }

    fn compare(
        &mut self,
        continues: Continued,
        targets: Targets,
        told: ListDifference,
        (goes_on, is_alike): (bool, bool),
    ) {
        self.replaced.extend(continues.id());
        let (stay, needed) = (0, Vec::new());
        self.lists.push(ComparedList { continues, targets, told, goes_on, is_alike, stay, needed });
    }

    /// Finds the entries to add.
    async fn come(&mut self, list: &mut ComparedList, turn: &Turn<impl AsMut<Core>>) {
        let mut from = 0;
        loop {
            let page = list.targets.page(from, PAGE);
            if page.is_empty() {
                break;
            }
            from += page.len();
            turn.page(|core| self.come_page(list, &page, core.protection.blocklist())).await;
        }
        let name = &list.told.name;
        let what = if name == CONFIG_LIST { "`block:`".to_owned() } else { format!("list \"{name}\"") };
        let needed = std::mem::take(&mut list.needed);
        self.reply.warnings.extend(well_known::sentence(&format!("{what} would have new"), needed));
    }

    fn come_page(&mut self, list: &mut ComparedList, page: &Targets, blocklist: &Blocklist) {
        let alive = list.continues.alive();
        let absent = blocklist.not_on(alive, page);
        list.stay += (page.len() - absent.len()) as u64;
        let come = match alive.filter(|_| list.goes_on) {
            Some(id) => blocklist.new_on(id, &absent),
            None => absent,
        };
        list.told.come += come.len() as u64;
        if !list.told.allows {
            well_known::add(&mut list.needed, well_known::counted(&come));
        }
        note(&mut self.reply, &list.told, &come, true);
    }

    /// Finds the entries to remove.
    async fn go(&mut self, list: &mut ComparedList, turn: &Turn<impl AsMut<Core>>) {
        let mut after = Some(None);
        while let Some(from) = after {
            let page = turn.page(|core| self.go_page(list, from, core.protection.blocklist()));
            after = page.await.map(Some);
        }
    }

    /// Finds those of a page after this target. Returns its last target if there may be more.
    fn go_page(
        &mut self,
        list: &mut ComparedList,
        after: Option<Target>,
        blocklist: &Blocklist,
    ) -> Option<Target> {
        let id = list.continues.id()?;
        let is_replaced = list.continues.replaced().is_some();
        if blocklist.lists().get(id).entries <= list.stay + list.told.go {
            return None;
        }
        let goes = |target| is_replaced || !list.targets.contains(target);
        let (over, next) = blocklist.to_release(id, after, goes);
        list.told.go += over.len() as u64;
        note(&mut self.reply, &list.told, &over, false);
        next
    }

    /// Reports a list if it would change.
    fn tell(&mut self, list: ComparedList) {
        let ListDifference {
            was, ports_before, direction_before, allows_before, new, gone, come, go, ..
        } = &list.told;
        let is_called_otherwise = was.is_some() || *new || *gone;
        let means_other = ports_before.is_some() || direction_before.is_some() || allows_before.is_some();
        if is_called_otherwise || means_other || *come > 0 || *go > 0 {
            self.reply.lists.push(list.told);
        } else {
            self.reply.unchanged += u64::from(list.is_alike);
        }
    }
}

/// The message about the mode, if that would change.
fn mode(now: &CurrentState<'_>) -> Option<String> {
    now.waits.map(|waits| match waits {
        true => settings::MODE_WAITS.to_owned(),
        false => settings::mode(now.mode, Phrasing::Would),
    })
}

/// The settings other than `enforce` and `mode` that would change.
fn settings(now: &Config, loaded: &Loaded, blocklist: &Blocklist) -> Vec<String> {
    let then = &loaded.config;
    let held_back = loaded.lists.iter().filter_map(|list| match &list.found {
        ListFinding::Doubted { targets, .. } => Some((&*list.name, targets.is_some())),
        ListFinding::Accepted { .. } | ListFinding::Unchanged | ListFinding::Awaited => None,
    });
    let held_back = held_back.collect();
    let renamed = loaded.renamed(blocklist.lists());
    let reload =
        settings::ReloadContext { mood: Phrasing::Would, restores: false, renamed: &renamed, held_back };
    settings::changed(now, then, &reload)
}

/// The text of a clause, or `all` without one.
fn ports_told(clause: Option<Clause>) -> String {
    clause.map_or_else(|| "all".to_owned(), |clause| clause.to_string())
}

/// How a list would differ, except for its entries.
fn difference(list: &PlannedList, blocklist: &Blocklist) -> ListDifference {
    let rows = blocklist.lists();
    let Meaning { polarity, ports, direction, .. } = list.meaning;
    let turned = list.continues.turned().map(|id| rows.get(id));
    let before_ports = turned.filter(|row| blocklist.clause(row) != ports);
    let direction_before = turned.filter(|row| row.direction != direction);
    ListDifference {
        name: list.name.to_string(),
        was: list.name_before(blocklist).map(ToString::to_string),
        ports: ports.map(|clause| clause.to_string()),
        ports_before: before_ports.map(|row| ports_told(blocklist.clause(row))),
        direction: direction.unusual_name().map(str::to_owned),
        direction_before: direction_before.map(|row| row.direction.name().to_owned()),
        allows: polarity == Polarity::Allow,
        allows_before: list.continues.replaced().map(|_| polarity != Polarity::Allow),
        new: list.continues == Continued::New && list.origin == Origin::File,
        ..ListDifference::default()
    }
}

/// Existing lists that would change their reach.
fn reaching(plan: &Plan, config: &Config, blocklist: &Blocklist) -> Vec<(ListId, Reach)> {
    let rows = blocklist.lists();
    let live = rows.live(Polarity::Block).map(|id| {
        let said = config.live.iter().find(|said| said.name.as_str() == &*rows.get(id).name);
        (id, said.map_or(Reach::AS_GIVEN, |said| Reach::to(said.ipv6_prefix)))
    });
    plan.reaches().chain(live).filter(|(list, reach)| rows.get(*list).reach != *reach).collect()
}

fn note(reply: &mut Reply, list: &ListDifference, targets: &Targets, comes: bool) {
    let room = MOST_ENTRIES.saturating_sub(reply.entries.len());
    let told = targets.iter().take(room).map(|target| EntryDifference {
        list: list.name.clone(),
        target: target.to_string(),
        allows: list.allows_before.filter(|_| !comes).unwrap_or(list.allows),
        gone: list.gone,
        comes,
    });
    reply.entries.extend(told);
}
