//! Compares the files with what is in force: the entries that a reload would change, and the peers that it
//! would cut off. The files are read outside the owner (`gather`), compared page by page, and nothing is
//! changed. `peers` finds the peers by `sockets`, `covering` the entries that cover them, `lasting` how long
//! these last, and `cuts` the peers that would be cut off.

mod cuts;
mod gather;
mod guarded;
mod lasting;
mod peers;

use std::collections::HashSet;

use filter_common::ports::Clause;
use filter_common::target::Target;

use super::interfaces::InterfacePreview;
use super::pages::{OwnerParts, Turn, Work};
use super::reload::{ListFinding, Loaded, LoadedList, settings_of};
use super::settings;
use crate::blocklist::{
    Blocklist, ListId, Origin, PAGE, Polarity, Reach, Settings, Strictness, Targets, Timestamp,
};
use crate::clock;
use crate::config::name::{CONFIG_ALLOW_LIST, CONFIG_LIST};
use crate::config::{Config, Mode};
use crate::control::wire::diff::{EntryDifference, ListDifference, MOST_ENTRIES, Reply};
use crate::control::wire::reload::HeldBack;
use crate::source::trouble::Phrasing;
use crate::source::well_known;
#[cfg(test)]
pub use gather::gather_with;
use gather::{BlockedPackets, Peer};
pub use gather::{ComparisonInput, gather};
pub use guarded::GuardedAddresses;
use lasting::EntryLifetime;
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
    stage: ComparisonStage,
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
    lasting: EntryLifetime,
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
    id: Option<ListId>,
    /// The list in force that it continues with block and allow exchanged. All entries of that one leave.
    reversed: Option<ListId>,
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

/// The next thing to do.
enum ComparisonStage {
    /// Find the entries to add: from this position of this list on.
    Come { list: usize, from: usize },
    /// Find the entries to remove: of this list, after this target.
    Go { list: usize, after: Option<Target> },
    /// Check the peers from this index on.
    Peers(usize),
}

impl Comparison {
    /// Starts to compare the files with what is in force.
    pub fn begin(read: ComparisonInput, now: CurrentState<'_>, blocklist: &Blocklist) -> Self {
        let ComparisonInput { loaded, peers, guarded, unseen } = read;
        let mode = mode(&now);
        let InterfacePreview { attach, detach, faults } = now.interfaces;
        let (enforced, enforces) = (blocklist.settings().enforce, loaded.config.enforce);
        let reply = Reply {
            enforce: (enforced != enforces).then_some(enforces),
            attach_mode: (!attach.is_empty()).then(|| now.mode.name().to_owned()),
            attach,
            detach,
            faults,
            settings: mode.into_iter().chain(settings(now.config, &loaded)).collect(),
            peers: peers.len() as u64,
            on_trial_until: now.on_trial_until,
            paused_until: blocklist.settings().paused.map(clock::on_the_wall),
            guarded: guarded::tell(&guarded, blocklist),
            unseen,
            ..Reply::default()
        };
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
            then: settings_of(&loaded.config).strictness(),
        };
        let stage = ComparisonStage::Come { list: 0, from: 0 };
        let reaching = reaching(&loaded, blocklist);
        let mut this = Self {
            lists: Vec::new(),
            stage,
            peers,
            replaced: HashSet::new(),
            reaching,
            turned: Vec::new(),
            drops,
            reply,
        };
        this.take(loaded, blocklist);
        this
    }

    /// The result of the comparison.
    pub fn into_reply(self) -> Reply {
        self.reply
    }

    fn take(&mut self, loaded: Loaded, blocklist: &Blocklist) {
        let rows = blocklist.lists();
        let now_of = |list: &LoadedList| list.before.or(list.turned);
        // A list that continues without `before` or `turned` exchanges block and allow.
        let reversed_of = |list: &LoadedList| {
            list.was.as_ref().filter(|_| now_of(list).is_none()).and_then(|was| rows.find(was))
        };
        let goes_on = |list| now_of(list).or_else(|| reversed_of(list));
        let continued: HashSet<ListId> = loaded.lists.iter().filter_map(goes_on).collect();
        self.compare(rows.find(CONFIG_LIST), CONFIG_LIST, Polarity::Block, loaded.block);
        let allow = rows.find(CONFIG_ALLOW_LIST);
        if allow.is_some() || !loaded.allow.is_empty() {
            self.compare(allow, CONFIG_ALLOW_LIST, Polarity::Allow, loaded.allow);
        }
        for list in loaded.lists {
            let (before, keeps, lasting) = (now_of(&list), list.keeps_entries_of(), EntryLifetime::on(&list));
            let (reversed, is_alike) = (reversed_of(&list), list.is_alike(rows));
            let turned = before.filter(|_| list.before.is_none()).map(|id| rows.get(id));
            let before_ports = turned.filter(|row| blocklist.clause(row) != list.meaning.ports);
            let before_ports = before_ports.map(|row| ports_told(blocklist.clause(row)));
            let direction_before = turned.filter(|row| row.direction != list.meaning.direction);
            let direction_before = direction_before.map(|row| row.direction.name().to_owned());
            let is_turned = before_ports.is_some() || direction_before.is_some();
            let targets = match list.found {
                ListFinding::Unchanged => None,
                ListFinding::Awaited => {
                    self.reply.not_fetched.push(list.name.to_string());
                    None
                }
                ListFinding::Accepted { targets, .. } => Some(targets),
                ListFinding::Doubted { told, targets, .. } => {
                    let (list, since) = (list.name.to_string(), clock::now().secs());
                    self.reply.held_back.push(HeldBack { list, since, told });
                    targets
                }
            };
            let was = list.was.filter(|was| *was != list.name).map(|was| was.to_string());
            let ports = list.meaning.ports.map(|clause| clause.to_string());
            let direction = list.meaning.direction.unusual_name().map(str::to_owned);
            let packets = BlockedPackets { clause: list.meaning.ports, direction: list.meaning.direction };
            self.turned.extend(keeps.map(|id| TurnedList { list: id, packets, lasting }));
            match targets.or_else(|| reversed.map(|_| Targets::default())) {
                Some(targets) => {
                    self.compare(before, &list.name, list.meaning.polarity, targets);
                    if let Some(compared) = self.lists.last_mut() {
                        let told = &mut compared.told;
                        (told.was, told.ports, told.ports_before) = (was, ports, before_ports);
                        (told.direction, told.direction_before) = (direction, direction_before);
                        compared.goes_on = lasting.goes_on();
                        compared.is_alike = is_alike;
                        compared.reverses(reversed);
                    }
                    self.replaced.extend(reversed);
                }
                None if before.is_some() && was.is_none() && !is_turned => {
                    self.reply.unchanged += u64::from(is_alike);
                }
                None => {
                    let come = keeps.filter(|_| before.is_none()).map_or(0, |id| rows.get(id).entries);
                    self.reply.lists.push(ListDifference {
                        name: list.name.to_string(),
                        was,
                        ports,
                        ports_before: before_ports,
                        direction,
                        direction_before,
                        allows: list.meaning.polarity == Polarity::Allow,
                        new: before.is_none(),
                        come,
                        ..ListDifference::default()
                    });
                }
            }
        }
        let gone = rows.iter().filter(|(id, list)| list.origin == Origin::File && !continued.contains(id));
        for (id, list) in gone {
            self.compare(Some(id), list.called(), list.polarity, Targets::default());
            if let Some(compared) = self.lists.last_mut() {
                compared.told.gone = true;
            }
        }
    }

    fn compare(&mut self, id: Option<ListId>, name: &str, polarity: Polarity, targets: Targets) {
        self.replaced.extend(id);
        let told = ListDifference {
            name: name.to_owned(),
            allows: polarity == Polarity::Allow,
            new: id.is_none() && ![CONFIG_LIST, CONFIG_ALLOW_LIST].contains(&name),
            ..ListDifference::default()
        };
        self.lists.push(ComparedList {
            id,
            reversed: None,
            targets,
            told,
            goes_on: false,
            is_alike: false,
            stay: 0,
            needed: Vec::new(),
        });
    }

    fn come(&mut self, list: usize, from: usize, blocklist: &Blocklist) -> ComparisonStage {
        let Some(compared) = self.lists.get_mut(list) else { return ComparisonStage::Peers(0) };
        let page = compared.targets.page(from, PAGE);
        if page.is_empty() {
            let needed = std::mem::take(&mut compared.needed);
            let name = &compared.told.name;
            let what = if name == CONFIG_LIST { "`block:`".to_owned() } else { format!("list \"{name}\"") };
            self.reply.warnings.extend(well_known::sentence(&format!("{what} would have new"), needed));
            return ComparisonStage::Go { list, after: None };
        }
        let absent = blocklist.not_on(compared.id, &page);
        compared.stay += (page.len() - absent.len()) as u64;
        let come = match compared.id.filter(|_| compared.goes_on) {
            Some(id) => blocklist.new_on(id, &absent),
            None => absent,
        };
        compared.told.come += come.len() as u64;
        if !compared.told.allows {
            well_known::add(&mut compared.needed, well_known::counted(&come));
        }
        note(&mut self.reply, &compared.told, &come, true);
        ComparisonStage::Come { list, from: from + page.len() }
    }

    fn go(&mut self, list: usize, after: Option<Target>, blocklist: &Blocklist) -> ComparisonStage {
        let Some(compared) = self.lists.get_mut(list) else { return ComparisonStage::Peers(0) };
        let now = compared.id.or(compared.reversed);
        let entries = now.map_or(0, |id| blocklist.lists().get(id).entries);
        let is_more = entries > compared.stay + compared.told.go;
        if let Some(id) = now.filter(|_| is_more) {
            let goes = |target| compared.reversed.is_some() || !compared.targets.contains(target);
            let (over, next) = blocklist.to_release(id, after, goes);
            compared.told.go += over.len() as u64;
            note(&mut self.reply, &compared.told, &over, false);
            if next.is_some() {
                return ComparisonStage::Go { list, after: next };
            }
        }
        let ListDifference {
            was, ports_before, direction_before, allows_before, new, gone, come, go, ..
        } = &compared.told;
        let is_called_otherwise = was.is_some() || *new || *gone;
        let means_other = ports_before.is_some() || direction_before.is_some() || allows_before.is_some();
        if is_called_otherwise || means_other || *come > 0 || *go > 0 {
            self.reply.lists.push(compared.told.clone());
        } else {
            self.reply.unchanged += u64::from(compared.is_alike);
        }
        ComparisonStage::Come { list: list + 1, from: 0 }
    }
}

impl ComparedList {
    /// Records that it continues this list in force with block and allow exchanged.
    fn reverses(&mut self, reversed: Option<ListId>) {
        self.reversed = reversed;
        self.told.new = self.told.new && reversed.is_none();
        self.told.allows_before = reversed.map(|_| !self.told.allows);
    }
}

impl Work for Comparison {
    fn turn(&mut self, parts: &mut OwnerParts<'_>) -> Turn {
        let blocklist = parts.protection.blocklist();
        self.stage = match self.stage {
            ComparisonStage::Come { list, from } => self.come(list, from, blocklist),
            ComparisonStage::Go { list, after } => self.go(list, after, blocklist),
            ComparisonStage::Peers(from) if from >= self.peers.len() => return Turn::Done,
            ComparisonStage::Peers(from) => ComparisonStage::Peers(self.look_at_peers(from, blocklist)),
        };
        Turn::More
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
fn settings(now: &Config, loaded: &Loaded) -> Vec<String> {
    let then = &loaded.config;
    let held_back = loaded.lists.iter().filter_map(|list| match &list.found {
        ListFinding::Doubted { targets, .. } => Some((&*list.name, targets.is_some())),
        ListFinding::Accepted { .. } | ListFinding::Unchanged | ListFinding::Awaited => None,
    });
    let held_back = held_back.collect();
    let renamed = loaded.renamed();
    let reload =
        settings::ReloadContext { mood: Phrasing::Would, restores: false, renamed: &renamed, held_back };
    settings::changed(now, then, &reload)
}

/// The text of a clause, or `all` without one.
fn ports_told(clause: Option<Clause>) -> String {
    clause.map_or_else(|| "all".to_owned(), |clause| clause.to_string())
}

/// Existing lists that would change their reach.
fn reaching(loaded: &Loaded, blocklist: &Blocklist) -> Vec<(ListId, Reach)> {
    let rows = blocklist.lists();
    let files = loaded
        .lists
        .iter()
        .filter_map(|list| Some((list.before.or_else(|| list.keeps_entries_of())?, list.meaning.reach)));
    let live = rows.live(Polarity::Block).map(|id| {
        let said = loaded.config.live.iter().find(|said| said.name.as_str() == &*rows.get(id).name);
        (id, said.map_or(Reach::AS_GIVEN, |said| Reach::to(said.ipv6_prefix)))
    });
    files.chain(live).filter(|(list, reach)| rows.get(*list).reach != *reach).collect()
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
