//! Selects the entries that go to this filterd's live lists, and counts those that are left out, by reason.

use std::collections::BTreeMap;

use filter_common::target::Target;
use serde::{Serialize, Serializer};

use super::{Fault, ImportedEntry};
use crate::command::render::figure::counted_as;
use crate::config::ListName;
use crate::config::name::{
    CONFIG_ALLOW_LIST, CONFIG_LIST, GUARD_LIST, MANUAL_ALLOW_LIST, MANUAL_LIST, MANUAL_OUT_LIST,
    ReservedPrefix,
};
use crate::control::wire::entry::LIVE;
use crate::control::wire::lists::ListDetails;
use crate::control::wire::own::Own;
use crate::control::wire::words::LONGEST_TTL;
use crate::source::SpecialRanges;
use crate::source::special;
use crate::text::Explanation;

/// The options that put entries of `block:` and `allow:` of another machine in force.
pub const INLINE_REMEDY: &str = "pass --as-live to import them into a live list, or --as-config FILE to write them as lines for a configuration";

/// The destination of an entry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ImportDestination {
    /// Its list, or the default one if None.
    pub list: Option<ListName>,
    /// Whether that list allows.
    pub allow: bool,
    /// Whether wide prefixes are accepted.
    pub wide: bool,
}

/// The options of an import.
#[derive(Debug)]
pub struct ImportOptions {
    /// The list for all entries that block.
    pub list: Option<ListName>,
    /// The end of entries without one.
    pub until: Option<u64>,
    /// Which special and wide targets are accepted.
    pub special: SpecialRanges,
    /// The current time, in seconds since 1970.
    pub now: u64,
    /// What happens to entries of `block:` and `allow:`.
    pub inline: InlineEntries,
}

/// What an import does with entries that come from `block:` and `allow:` of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InlineEntries {
    /// No command fills these lists, so they are left out.
    LeaveOut,
    /// They go to the live lists that `add` and `allow add` fill.
    ToLive,
    /// They are collected for a configuration.
    Collect,
}

/// Entries for `block:` and `allow:` of a configuration.
#[derive(Debug, Default, PartialEq)]
pub struct InlineTargets {
    /// The entries for `block:`.
    pub block: Vec<Target>,
    /// The entries for `allow:`.
    pub allow: Vec<Target>,
}

impl InlineTargets {
    /// The number of entries.
    pub const fn count(&self) -> usize {
        self.block.len() + self.allow.len()
    }

    /// The lines of a configuration.
    pub fn lines(&self) -> String {
        let section = |key: &str, targets: &[Target]| {
            let lines: String = targets.iter().map(|target| format!("  - {target}\n")).collect();
            if targets.is_empty() { format!("{key}: []\n") } else { format!("{key}:\n{lines}") }
        };
        section("block", &self.block) + &section("allow", &self.allow)
    }
}

/// Counts of entries that were left out.
#[derive(Debug, Default, PartialEq, Serialize)]
pub struct LeftOutCounts {
    /// Entries that had expired.
    #[serde(skip_serializing_if = "is_zero")]
    pub over: u64,
    /// Entries that were special ranges, wholly or in part.
    #[serde(skip_serializing_if = "is_zero")]
    pub special: u64,
    /// Entries that block on some ports only, which live lists cannot do.
    #[serde(skip_serializing_if = "is_zero")]
    pub on_ports: u64,
    /// Entries that block packets to their targets, which only one live list does.
    #[serde(skip_serializing_if = "is_zero")]
    pub outbound: u64,
    /// By list: lists of the configuration here, which bring their entries themselves.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub configured: BTreeMap<String, u64>,
    /// Whether one of those is not from an export of filterd.
    #[serde(skip)]
    pub has_foreign: bool,
    /// By list: lists that no command may fill, or that do the opposite here.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", serialize_with = "by_list")]
    pub refused: BTreeMap<RefusedList, u64>,
}

/// A list on which no command may put these entries.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RefusedList {
    list: String,
    /// Whether the entries allow.
    allow: bool,
    because: RefusalReason,
}

/// Why the entries are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum RefusalReason {
    /// The configuration itself fills that list.
    Configuration,
    /// filterd fills it with addresses that this host needs.
    Guard,
    /// Another service alone fills lists with such names.
    Reserved(&'static str),
    /// The list does the opposite.
    Opposite,
}

fn by_list<S: Serializer>(refused: &BTreeMap<RefusedList, u64>, to: S) -> Result<S::Ok, S::Error> {
    let mut lists: BTreeMap<&str, u64> = BTreeMap::new();
    refused.iter().for_each(|(RefusedList { list, .. }, count)| *lists.entry(list).or_default() += count);
    lists.serialize(to)
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Decides about one entry after the other.
#[derive(Debug)]
pub struct ImportSelection {
    asked: ImportOptions,
    /// For each existing list: whether it is live, and whether it allows.
    lists: BTreeMap<String, (bool, bool)>,
    left: LeftOutCounts,
    inline: InlineTargets,
}

impl ImportSelection {
    /// Prepares an import into a filterd with these lists.
    pub fn new(asked: ImportOptions, lists: &[ListDetails]) -> Self {
        // The reserved lists of the configuration are always reported. They do not count while they are
        // empty.
        let is_there =
            |list: &&ListDetails| list.kind == LIVE || list.entries > 0 || !is_reserved(&list.name);
        let known = lists.iter().filter(is_there);
        let known = known.map(|list| (list.name.clone(), (list.kind == LIVE, list.allows)));
        Self {
            asked,
            lists: known.collect(),
            left: LeftOutCounts::default(),
            inline: InlineTargets::default(),
        }
    }

    /// The targets to send for an entry, and their destination.
    pub fn sift(
        &mut self,
        item: ImportedEntry,
    ) -> Result<Option<(ImportDestination, Vec<Target>, Own)>, Fault> {
        let ImportedEntry { span, allow, mut own, is_ours, .. } = item;
        // An allow must not end before the block that it is an exception to.
        own.until = own.until.or(self.asked.until.filter(|_| !allow));
        if own.until.is_some_and(|until| until <= self.asked.now) {
            self.left.over += 1;
            return Ok(None);
        }
        if own.until.is_some_and(|until| until > self.asked.now + LONGEST_TTL.as_secs()) {
            return Err(format!("{span} ends in more than ten years"));
        }
        let list = self.asked.list.clone().filter(|_| !allow).or(item.list);
        let inline = match list.as_ref().is_some_and(|list| is_inline(list, allow)) {
            true => self.asked.inline,
            false => InlineEntries::LeaveOut,
        };
        let list = list.filter(|_| inline == InlineEntries::LeaveOut);
        if !self.admit(list.as_ref(), allow) {
            // An export of filterd may contain entries that the configuration has anyway. The sets of
            // others do not.
            self.left.has_foreign |= !is_ours;
            return Ok(None);
        }
        if item.on_ports {
            self.left.on_ports += 1;
            return Ok(None);
        }
        if item.is_outbound && list.as_ref().is_none_or(|list| list.as_str() != MANUAL_OUT_LIST) {
            self.left.outbound += 1;
            return Ok(None);
        }
        // Entries in an export of filterd were in force, so none is doubted. Allowing a special range never
        // cuts a host off.
        let meant = match (is_ours, allow) {
            (true, _) => SpecialRanges::INCLUDED,
            (false, true) => SpecialRanges { included: true, ..self.asked.special },
            (false, false) => self.asked.special,
        };
        if let Some(wide) = span.into_iter().find(|target| meant.doubts(*target)) {
            return Err(format!("{wide} is wider than a /8, or a /16 of IPv6: to import it, pass --wide"));
        }
        let rest: Vec<Target> = if item.exceptions.is_empty() {
            span.into_iter().collect()
        } else {
            special::minus(span, &item.exceptions).iter().collect()
        };
        let targets = if meant.included { rest } else { self.plain(rest) };
        if inline == InlineEntries::Collect {
            let section = if allow { &mut self.inline.allow } else { &mut self.inline.block };
            section.extend(targets);
            return Ok(None);
        }
        Ok(Some((ImportDestination { list, allow, wide: meant.wide }, targets, own)))
    }

    /// Removes special ranges from these targets.
    fn plain(&mut self, span: impl IntoIterator<Item = Target>) -> Vec<Target> {
        let mut targets = Vec::new();
        for target in span {
            match special::without(target) {
                None => targets.push(target),
                Some(rest) => {
                    self.left.special += 1;
                    targets.extend(rest.iter());
                }
            }
        }
        targets
    }

    /// Returns whether commands may fill that list, and whether it blocks or allows like the entry.
    fn admit(&mut self, list: Option<&ListName>, allow: bool) -> bool {
        // For a list that was named on the command line, the daemon itself explains a refusal.
        let Some(name) = list.filter(|_| allow || self.asked.list.is_none()) else { return true };
        let usual: &[&str] = if allow { &[MANUAL_ALLOW_LIST] } else { &[MANUAL_LIST, MANUAL_OUT_LIST] };
        match self.lists.get(name.as_str()) {
            Some((true, allows)) if *allows == allow => return true,
            Some((false, allows)) if *allows == allow => {
                *self.left.configured.entry(name.to_string()).or_default() += 1;
            }
            None if !name.is_reserved() || usual.contains(&name.as_str()) => {
                // From now on the list exists, and either blocks or allows.
                self.lists.insert(name.to_string(), (true, allow));
                return true;
            }
            Some(_) | None => {
                *self.left.refused.entry(RefusedList::of(name.as_str(), allow)).or_default() += 1;
            }
        }
        false
    }

    /// The counts of entries that were left out, and the entries collected for a configuration.
    pub fn finish(self) -> (LeftOutCounts, InlineTargets) {
        (self.left, self.inline)
    }
}

impl LeftOutCounts {
    /// Remarks that are no errors.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        notes.extend((self.over > 0).then(|| format!("{} left out: expired", entries(self.over))));
        notes.extend((self.special > 0).then(|| {
            format!(
                "{} left out, wholly or partly: private, loopback and other special ranges (to import them, pass --include-special)",
                entries(self.special)
            )
        }));
        notes.extend(self.configured.iter().map(|(list, count)| {
            let whose = if list == GUARD_LIST { "filterd itself fills" } else { "the configuration has" };
            format!("{} left out: list `{list}` is one that {whose} here", entries(*count))
        }));
        notes
    }

    /// Why the blocks of this input must not be imported: entries that allow were left out. Entries of the
    /// exporting machine's guard are not needed here.
    pub fn missing_allows(&self) -> Option<Explanation> {
        let mut missing = self
            .refused
            .iter()
            .filter(|(refused, _)| refused.allow && refused.because != RefusalReason::Guard);
        missing.next().map(|(refused, count)| refused.explain_missing(*count))
    }

    /// The errors for requested entries that were not imported.
    pub fn faults(&self) -> Vec<Explanation> {
        let mut faults: Vec<_> =
            self.refused.iter().map(|(refused, count)| refused.explain(*count)).collect();
        faults.extend((self.on_ports > 0).then(|| {
            Explanation::new(
                format!(
                    "{} left out: they block only some ports, which live lists cannot do",
                    entries(self.on_ports)
                ),
                "define their list in the configuration, with its ports",
            )
        }));
        faults.extend((self.outbound > 0).then(|| {
            Explanation::new(
                format!("{} left out: they block packets to their targets", entries(self.outbound)),
                "define their list in the configuration, with its `direction`, or import with --list manual-out",
            )
        }));
        faults
    }
}

impl RefusedList {
    fn of(list: &str, allow: bool) -> Self {
        let because = match (list, allow) {
            (CONFIG_LIST, false) | (CONFIG_ALLOW_LIST, true) => RefusalReason::Configuration,
            (GUARD_LIST, true) => RefusalReason::Guard,
            _ => ReservedPrefix::of(list)
                .map_or(RefusalReason::Opposite, |prefix| RefusalReason::Reserved(prefix.owner())),
        };
        Self { list: list.to_owned(), allow, because }
    }

    /// Explains a refusal, with the command that imports the entries anyway. `--list` of an import only
    /// concerns entries that block.
    fn explain(&self, count: u64) -> Explanation {
        let Self { list, allow, because } = self;
        let (does, opposite) = if *allow { ("allow", "blocks") } else { ("block", "allows") };
        let why = match because {
            RefusalReason::Configuration => "only the configuration can fill it".to_owned(),
            RefusalReason::Guard => "filterd fills it with the addresses this host depends on".to_owned(),
            RefusalReason::Reserved(owner) => format!("only {owner} fills lists with such names"),
            RefusalReason::Opposite => format!("they {does}, and that list {opposite} here"),
        };
        let remedy = match (because, allow) {
            (RefusalReason::Configuration, _) => INLINE_REMEDY,
            (_, true) => "to allow them on another list: filterd allow add TARGET --list NAME",
            (_, false) => "to import those that block into another list, pass --list NAME",
        };
        Explanation::new(format!("{} of list `{list}` left out: {why}", entries(count)), remedy)
    }

    /// Why nothing is imported without these entries, which allow.
    fn explain_missing(&self, count: u64) -> Explanation {
        let (count, list) = (entries(count), &self.list);
        if self.because == RefusalReason::Configuration {
            let message = format!(
                "the input has {count} of `allow:`, which commands cannot change, and without them their addresses \
                 would be blocked"
            );
            return Explanation::new(message, INLINE_REMEDY);
        }
        let message = format!(
            "the input allows {count} on list {list}, which blocks here, and without them their addresses would be blocked"
        );
        let remedy = format!(
            "give list {list} another name in the input, or remove its entries here: `filterd flush --list {list}`"
        );
        Explanation::new(message, remedy)
    }
}

/// Returns whether `block:` or `allow:` of a configuration fills that list.
fn is_inline(list: &ListName, allow: bool) -> bool {
    list.as_str() == if allow { CONFIG_ALLOW_LIST } else { CONFIG_LIST }
}

fn is_reserved(name: &str) -> bool {
    name.parse().is_ok_and(|name: ListName| name.is_reserved())
}

fn entries(count: u64) -> String {
    counted_as(count, ["entry", "entries"])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sifting() -> ImportSelection {
        sifting_with(InlineEntries::LeaveOut)
    }

    fn sifting_with(inline: InlineEntries) -> ImportSelection {
        let list = |name: &str, kind: &str, entries| ListDetails {
            name: name.into(),
            kind: kind.into(),
            entries,
            ..ListDetails::default()
        };
        let asked =
            ImportOptions { list: None, until: None, special: SpecialRanges::EXCLUDED, now: 1000, inline };
        ImportSelection::new(
            asked,
            &[list("drop", "file", 3), list("config", "config", 0), list("ssh", "live", 1)],
        )
    }

    fn item(target: &str, list: &str) -> ImportedEntry {
        ImportedEntry { list: Some(list.parse().unwrap()), ..ImportedEntry::bare(target.parse().unwrap()) }
    }

    fn sifted(sifting: &mut ImportSelection, item: ImportedEntry) -> Option<Vec<String>> {
        let (_, targets, _) = sifting.sift(item).unwrap()?;
        Some(targets.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn unsuitable_entries_are_left_out_by_reason() {
        let mut sifting = sifting();
        assert_eq!(sifted(&mut sifting, item("192.0.2.1", "ssh")), Some(vec!["192.0.2.1".to_owned()]));
        assert_eq!(sifted(&mut sifting, item("192.0.2.1", "drop")), None);
        assert_eq!(sifted(&mut sifting, item("192.0.2.1", "config")), None);
        assert_eq!(sifted(&mut sifting, ImportedEntry { allow: true, ..item("192.0.2.1", "ssh") }), None);
        let over = Own { until: Some(1000), note: None };
        assert_eq!(sifted(&mut sifting, ImportedEntry { own: over, ..item("192.0.2.1", "ssh") }), None);
        assert_eq!(sifted(&mut sifting, ImportedEntry { on_ports: true, ..item("192.0.2.1", "ssh") }), None);
        assert_eq!(sifted(&mut sifting, item("10.0.0.1", "ssh")), Some(Vec::new()));
        assert!(sifting.sift(item("16.0.0.0/6", "ssh")).is_err());
        let (left, _) = sifting.finish();
        assert_eq!((left.over, left.special, left.on_ports), (1, 1, 1));
        assert_eq!(left.configured.keys().collect::<Vec<_>>(), ["drop"]);
        assert_eq!(
            serde_json::to_value(&left).unwrap()["refused"],
            serde_json::json!({"config": 1, "ssh": 1})
        );
        assert_eq!((left.notes().len(), left.faults().len()), (3, 3));
    }

    #[test]
    fn imported_list_blocks_or_allows_but_not_both() {
        let mut sifting = sifting();
        assert!(sifted(&mut sifting, item("192.0.2.1", "new")).is_some());
        assert_eq!(sifted(&mut sifting, ImportedEntry { allow: true, ..item("192.0.2.2", "new") }), None);
        assert_eq!(sifting.finish().0.refused[&RefusedList::of("new", true)], 1);
    }

    #[test]
    fn refused_list_is_reported_with_its_cause() {
        let allowed = |list: &str| ImportedEntry { allow: true, ..item("192.0.2.1", list) };
        let blocked = |list: &str| item("192.0.2.1", list);
        let all = [
            (blocked("config"), "only the configuration", "--as-live"),
            (allowed("config-allow"), "only the configuration", "--as-config"),
            (allowed("guard"), "filterd fills it with the addresses", "filterd allow add TARGET"),
            (blocked("guard"), "they block, and that list allows here", "pass --list NAME"),
            (blocked("manual-allow"), "they block, and that list allows here", "pass --list NAME"),
            (blocked("crowdsec-capi"), "only CrowdSec fills lists with such names", "pass --list NAME"),
            (allowed("ssh"), "they allow, and that list blocks here", "filterd allow add TARGET"),
            (allowed("drop"), "they allow, and that list blocks here", "filterd allow add TARGET"),
        ];
        for (item, why, remedy) in all {
            let mut sifting = sifting();
            let told = format!("{item:?}");
            assert_eq!(sifted(&mut sifting, item), None, "{told}");
            let faults = sifting.finish().0.faults();
            assert_eq!(faults.len(), 1, "{told}");
            assert!(faults[0].message.contains(why), "{told}: {}", faults[0].message);
            let remedies = faults[0].remedy.clone().unwrap_or_default();
            assert!(remedies.contains(remedy), "{told}: {remedies}");
        }
    }

    #[test]
    fn missing_allows_keep_blocks_from_being_imported() {
        let allowed = |list: &str| ImportedEntry { allow: true, ..item("192.0.2.1", list) };
        for (item, expected) in [
            (allowed("ssh"), Some("allows 1 entry on list ssh, which blocks here")),
            (allowed("drop"), Some("allows 1 entry on list drop, which blocks here")),
            (allowed("config-allow"), Some("1 entry of `allow:`, which commands cannot")),
            (allowed("guard"), None),
            (allowed("new"), None),
            (item("192.0.2.1", "manual-allow"), None),
        ] {
            let mut sifting = sifting();
            sifting.sift(item.clone()).unwrap();
            let missing = sifting.finish().0.missing_allows();
            let told = missing.as_ref().map(ToString::to_string);
            assert_eq!(told.is_some(), expected.is_some(), "{item:?}: {told:?}");
            assert!(told.unwrap_or_default().contains(expected.unwrap_or_default()), "{item:?}");
        }
    }

    /// FAULTS W3-O12: an export of a machine with `block:` and `allow:` could not be restored on a fresh one.
    #[test]
    fn inline_entries_go_where_they_are_asked() {
        let allowed = ImportedEntry { allow: true, ..item("192.0.2.2", "config-allow") };
        let mut live = sifting_with(InlineEntries::ToLive);
        for (item, allow) in [(item("192.0.2.1", "config"), false), (allowed.clone(), true)] {
            let (to, targets, _) = live.sift(item).unwrap().unwrap();
            assert_eq!((to, targets.len()), (ImportDestination { list: None, allow, wide: false }, 1));
        }
        let mut collecting = sifting_with(InlineEntries::Collect);
        assert_eq!(sifted(&mut collecting, item("192.0.2.1", "config")), None);
        assert_eq!(sifted(&mut collecting, allowed), None);
        assert!(sifted(&mut collecting, item("192.0.2.3", "ssh")).is_some());
        let (left, inline) = collecting.finish();
        assert_eq!((left, inline.count()), (LeftOutCounts::default(), 2));
        assert_eq!(inline.lines(), "block:\n  - 192.0.2.1\nallow:\n  - 192.0.2.2\n");
        assert_eq!(InlineTargets::default().lines(), "block: []\nallow: []\n");
    }

    #[test]
    fn own_export_returns_unchanged() {
        let mut sifting = sifting();
        for target in ["10.0.0.1", "0.0.0.0/0", "127.0.0.0/8"] {
            let ours = ImportedEntry { is_ours: true, ..item(target, "ssh") };
            assert_eq!(sifted(&mut sifting, ours), Some(vec![target.to_owned()]));
        }
    }
}
