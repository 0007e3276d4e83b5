//! Decides what an import does with each set of ipset or nftables. Some sets allow instead of block. The
//! set does not say so: only the rules, the name or the operator do. Therefore an import reads all sets
//! before it sends any, and leaves doubtful ones out.

use std::io::{self, Read};
use std::sync::Arc;

use filter_common::target::{Span, Target};
use serde::Serialize;

use super::ending::BoundaryLines;
use super::list_of::CountdownStart;
use super::nft::unprefixed;
use super::plain::fault;
use super::row::{RejectedRow, Row};
use super::{Fault, ImportedEntry, set_name};
use crate::command::render::figure::counted_as;
use crate::source::RejectReason;
use crate::source::format::nft::{Element, NftContents, NftPart, NftRule, NftTable, NftVerdict};
use crate::source::format::{self, Lack, ipset};
use crate::text::lines::Lines;
use crate::text::{Explanation, printable};

/// A set may allow if its name contains one of these.
const ALLOW_PARTS: [&str; 40] = [
    "white",
    "allow",
    "accept",
    "trust",
    "permit",
    "exempt",
    "exception",
    "exclu",
    "bypass",
    "ignore",
    "friend",
    "safe",
    "good",
    "known",
    "welcome",
    "authori",
    "approve",
    "verified",
    "legit",
    "clean",
    "customer",
    "partner",
    "staff",
    "office",
    "admin",
    "mgmt",
    "manage",
    "monitor",
    "internal",
    "letsencrypt",
    "pardon",
    "amnesty",
    "unblock",
    "unban",
    "noblock",
    "noban",
    "nodrop",
    "nodeny",
    "nofilter",
    "never",
];

/// A set may allow if one of these is a whole word of its name.
const ALLOW_WORDS: [&str; 13] =
    ["wl", "wlist", "pass", "passlist", "ok", "own", "self", "local", "home", "lan", "vpn", "vip", "not"];

/// These contain one of the above and mean the opposite.
const BLOCK_PARTS: [&str; 6] = ["disallow", "untrust", "distrust", "unsafe", "unauthori", "unverified"];

/// The most exceptions of a set: an import compares each entry with all of them.
const MOST_EXCEPTIONS: usize = 256;

/// All sets of an input, in order.
#[derive(Debug, Default)]
pub struct ForeignSets {
    sets: Vec<ForeignSet>,
    /// Lines that belong to no set and cannot be read.
    rejected: Vec<Row>,
    has_rules: bool,
    ending: BoundaryLines,
    /// The last line, if it has no end.
    cut: Option<u64>,
}

#[derive(Debug)]
struct ForeignSet {
    name: String,
    /// The table of an nftables set. Two tables may have a set of the same name.
    table: Option<NftTable>,
    holds: NftContents,
    rows: Vec<Row>,
    /// The entries with `nomatch`.
    exceptions: Vec<Target>,
    /// The number of elements that are more than addresses.
    others: u64,
    uses: Uses,
}

/// How the rest of the input uses a set.
#[derive(Clone, Debug, Default)]
struct Uses {
    /// A rule drops every packet whose source is in it.
    drop: bool,
    accept: bool,
    negate: bool,
    /// A rule drops some of its packets, or does something else.
    other: bool,
    /// A rule adds to it.
    filled: bool,
    /// A line deletes or swaps entries.
    edited: bool,
    /// The set of sets that contains this one.
    member_of: Option<String>,
}

impl Uses {
    fn of(rule: &NftRule) -> Self {
        let is_drop = rule.verdict == Some(NftVerdict::Drop);
        Self {
            drop: is_drop && !rule.is_conditional && !rule.is_negated,
            accept: rule.verdict == Some(NftVerdict::Accept),
            negate: rule.is_negated,
            other: !is_drop || rule.is_conditional,
            ..Self::default()
        }
    }

    fn add(&mut self, more: &Self) {
        self.drop |= more.drop;
        self.accept |= more.accept;
        self.negate |= more.negate;
        self.other |= more.other;
        self.filled |= more.filled;
    }
}

/// The operator's decisions about sets, by name.
#[derive(Clone, Debug, Default)]
pub struct SetChoice {
    /// Sets that are block lists.
    pub block: Vec<String>,
    /// Sets that are allow lists.
    pub allow: Vec<String>,
    /// If not empty, other sets are not imported.
    pub only: Vec<String>,
    /// Sets that are not imported.
    pub skip: Vec<String>,
}

/// What an import does with a set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SetPlan {
    /// The name of the set.
    pub name: String,
    /// The number of its entries.
    pub entries: u64,
    /// The number of its exceptions (`nomatch`).
    #[serde(skip_serializing_if = "is_zero")]
    pub exceptions: u64,
    /// What happens to its entries.
    pub action: SetAction,
    /// Why it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The family and table of a set of nftables.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
    /// Whether `--block` or `--allow` would import it.
    #[serde(skip)]
    is_doubtful: bool,
}

/// What happens to the entries of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SetAction {
    /// Their addresses are blocked.
    Block,
    /// Their addresses are allowed.
    Allow,
    /// They are not imported, and the operator did not ask for that.
    LeaveOut,
    /// They are not imported, as the operator asked.
    Skip,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl ForeignSets {
    /// Reads the output of `ipset save`. Returns the number of bytes, too.
    pub fn read_ipset(input: impl Read) -> io::Result<(Self, u64)> {
        let (begun, mut found, mut rows) = (CountdownStart::now(), Self::default(), format::Ipset::default());
        let (mut lines, mut members) = (Lines::new(input), Vec::new());
        while let Some(line) = lines.read()? {
            let number = Some(line.number);
            found.ending.note(&line);
            if !line.is_ended && line.whole {
                found.cut = Some(line.number);
                continue;
            }
            found.note_edits(line.bytes);
            let entry = rows.entry(&line);
            let Some(name) = ipset::set_of(&line) else {
                let rejected = entry.map(|(content, _)| fault(content, RejectReason::Form));
                found.rejected.extend(rejected.map(|fault| Err(RejectedRow { line: number, fault })));
                continue;
            };
            let set = found.entry_of(&String::from_utf8_lossy(name), None);
            let Some((content, entry)) = entry else { continue };
            match entry {
                Err(_) if rows.holds_more(name) => {
                    (set.holds, set.others) = (NftContents::Concatenations, set.others + 1);
                    let of = set.name.clone();
                    let member = content.split(|byte| *byte == b' ').nth(2).map(String::from_utf8_lossy);
                    members.extend(member.map(|member| (member.into_owned(), of)));
                }
                Err(reason) => {
                    set.rows.push(Err(RejectedRow { line: number, fault: fault(content, reason) }));
                }
                Ok(entry) if entry.is_exception => set.exceptions.extend(entry.span),
                Ok(entry) => {
                    let left = (entry.timeout > 0).then_some(entry.timeout);
                    let comment = entry.comment.map(String::from_utf8_lossy);
                    set.push(begun, entry.span, left, comment.as_deref(), number);
                }
            }
        }
        for (member, of) in members {
            let sets = found.sets.iter_mut().filter(|set| set.name == member);
            sets.for_each(|set| set.uses.member_of = Some(of.clone()));
        }
        Ok((found, lines.position()))
    }

    /// Notes commands of scripts that delete, flush, swap or rename. After them, a set does not contain the
    /// entries that its lines add.
    fn note_edits(&mut self, line: &[u8]) {
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let edits =
            [&b"del"[..], b"-D", b"flush", b"-F", b"destroy", b"-X", b"swap", b"-W", b"rename", b"-E"];
        if !words.next().is_some_and(|word| edits.contains(&word)) {
            return;
        }
        let names: Vec<_> = words.map(String::from_utf8_lossy).collect();
        let is_meant = |set: &&mut ForeignSet| names.is_empty() || names.iter().any(|name| *name == set.name);
        self.sets.iter_mut().filter(is_meant).for_each(|set| set.uses.edited |= !set.rows.is_empty());
    }

    /// Reads the output of `nft -j list`.
    pub fn read_nft(input: impl Read) -> io::Result<(Self, Option<Lack>)> {
        let (begun, mut found, mut uses) = (CountdownStart::now(), Self::default(), Vec::new());
        let lack = format::nft::read(input, |part| {
            match part {
                NftPart::Element(element) => found.add_element(begun, element),
                NftPart::Set(set) => found.entry_of(&set.name, Some(&set.table)).holds = set.holds,
                NftPart::Rule(rule) => {
                    found.has_rules = true;
                    let used = Uses::of(rule);
                    uses.extend(rule.sets.iter().map(|set| (set.clone(), rule.table.clone(), used.clone())));
                    let filled = Uses { filled: true, ..Uses::default() };
                    uses.extend(
                        rule.filled.iter().map(|set| (set.clone(), rule.table.clone(), filled.clone())),
                    );
                }
            }
            false
        })?;
        // Rules may come before the sets they use.
        for (name, table, used) in uses {
            found.entry_of(&name, Some(&table)).uses.add(&used);
        }
        Ok((found, lack))
    }

    fn add_element(&mut self, begun: CountdownStart, element: Element<'_>) {
        let Element { shown, span, set: of, left, comment, .. } = element;
        let set = self.entry_of(&of.name, Some(&of.table));
        set.holds = of.holds;
        match span {
            _ if of.holds != NftContents::Addresses => set.others += 1,
            Ok(span) => set.push(begun, span, left, comment, None),
            Err(reason) => {
                let fault = fault(shown.as_bytes(), reason);
                set.rows.push(Err(RejectedRow { line: None, fault }));
            }
        }
    }

    /// The set of this name, which is created if it is new.
    fn entry_of(&mut self, name: &str, table: Option<&NftTable>) -> &mut ForeignSet {
        let is_it = |set: &ForeignSet| set.name == name && set.table.as_ref() == table;
        // Nearly always it is the last one.
        let at = self.sets.iter().rposition(is_it).unwrap_or_else(|| {
            self.sets.push(ForeignSet::new(name, table));
            self.sets.len() - 1
        });
        &mut self.sets[at]
    }

    /// The error of the input as a whole.
    pub fn fault(&self) -> Option<String> {
        let cut = |line| format!("line {line} has no end, so the input may be cut");
        self.ending.fault().or_else(|| self.cut.map(cut))
    }

    /// Returns whether the input has rules.
    pub const fn has_rules(&self) -> bool {
        self.has_rules
    }

    /// Returns the entries to import, and what happens to each set that has entries.
    ///
    /// # Errors
    /// When `choice` names a set that does not exist, or says two things about one.
    pub fn choose(self, choice: &SetChoice) -> Result<(Vec<Row>, Vec<SetPlan>), Explanation> {
        choice.check(&self.sets)?;
        let (mut rows, mut plans, has_rules) = (self.rejected, Vec::new(), self.has_rules);
        let is_ours = self.ending.is_ours();
        for set in self.sets.into_iter().filter(|set| !set.is_empty() && choice.includes(set)) {
            let plan = set.plan(choice, has_rules, is_ours);
            match plan.action {
                SetAction::Block => rows.extend(set.into_rows(false, is_ours)),
                SetAction::Allow => rows.extend(set.into_rows(true, is_ours)),
                SetAction::LeaveOut | SetAction::Skip => {}
            }
            plans.push(plan);
        }
        // In the order of the input, if that has lines.
        rows.sort_by_key(|row| row.as_ref().map_or_else(|rejected| rejected.line, |(line, _)| *line));
        Ok((rows, plans))
    }
}

impl SetChoice {
    /// Returns whether the operator has decided nothing.
    pub fn is_empty(&self) -> bool {
        self.names().next().is_none()
    }

    fn names(&self) -> impl Iterator<Item = &String> {
        [&self.block, &self.allow, &self.only, &self.skip].into_iter().flatten()
    }

    /// `--only` hides the other sets, unless another option names them.
    fn includes(&self, set: &ForeignSet) -> bool {
        self.only.is_empty() || self.names().any(|name| set.is_called(name))
    }

    fn check(&self, sets: &[ForeignSet]) -> Result<(), Explanation> {
        for name in self.names() {
            let word = printable::word(name);
            let called: Vec<_> = sets.iter().filter(|set| set.is_called(name)).collect();
            if called.is_empty() {
                let known = match sets {
                    [] => "the input has no sets".to_owned(),
                    sets => format!("the sets are {}", full_names(sets)),
                };
                return Err(Explanation::new(format!("no set is called {word}"), known));
            }
            if called.len() > 1 {
                let message = format!("{} sets are called {word}", called.len());
                return Err(Explanation::new(
                    message,
                    format!("name the table, too: {}", full_names(called)),
                ));
            }
        }
        let has = |names: &[String], set: &ForeignSet| names.iter().any(|name| set.is_called(name));
        let contradicts = |set: &&ForeignSet| {
            [&self.block, &self.allow, &self.skip].into_iter().filter(|names| has(names, set)).count() > 1
                || has(&self.only, set) && has(&self.skip, set)
        };
        sets.iter().find(contradicts).map_or(Ok(()), |set| {
            let word = printable::word(&set.full_name());
            let message = format!("two options contradict each other about set {word}");
            Err(Explanation::new(message, "give one of --block, --allow and --skip for each set"))
        })
    }
}

impl ForeignSet {
    fn new(name: &str, table: Option<&NftTable>) -> Self {
        Self {
            name: name.to_owned(),
            table: table.cloned(),
            holds: NftContents::Addresses,
            rows: Vec::new(),
            exceptions: Vec::new(),
            others: 0,
            uses: Uses::default(),
        }
    }

    fn push(
        &mut self,
        begun: CountdownStart,
        span: Span,
        left: Option<u64>,
        comment: Option<&str>,
        line: Option<u64>,
    ) {
        let item = begun.item(span, unprefixed(&self.name), left, comment);
        self.rows.push(item.map(|item| (line, item)).map_err(|fault: Fault| RejectedRow { line, fault }));
    }

    /// Returns whether the set has nothing for a list. Sets of ports or interfaces have nothing either.
    fn is_empty(&self) -> bool {
        self.holds == NftContents::Other
            || self.rows.is_empty() && self.exceptions.is_empty() && self.others == 0
    }

    /// The name, with family and table for a set of nftables: `inet fw bad`.
    fn full_name(&self) -> String {
        self.table
            .as_ref()
            .map_or_else(|| self.name.clone(), |table| format!("{} {}", table.words(), self.name))
    }

    fn is_called(&self, name: &str) -> bool {
        self.name == name || self.table.is_some() && self.full_name() == name
    }

    fn plan(&self, choice: &SetChoice, has_rules: bool, is_ours: bool) -> SetPlan {
        let has = |names: &[String]| names.iter().any(|name| self.is_called(name));
        let (action, reason) = if has(&choice.skip) {
            (SetAction::Skip, None)
        } else if let Some(reason) = self.obstacle() {
            (SetAction::LeaveOut, Some(reason))
        } else if has(&choice.block) {
            (SetAction::Block, None)
        } else if has(&choice.allow) {
            (SetAction::Allow, None)
        } else if let Some(doubt) = self.doubt(has_rules, is_ours) {
            (SetAction::LeaveOut, Some(doubt))
        } else if self.is_marked_as_allowing() {
            (SetAction::Allow, None)
        } else {
            (SetAction::Block, None)
        };
        SetPlan {
            name: self.name.clone(),
            entries: self.rows.len() as u64 + self.others,
            exceptions: self.exceptions.len() as u64,
            table: self.table.as_ref().map(NftTable::words),
            is_doubtful: action == SetAction::LeaveOut && self.obstacle().is_none(),
            action,
            reason,
        }
    }

    /// Why no list can hold it.
    fn obstacle(&self) -> Option<String> {
        match self.holds {
            NftContents::Mappings => Some("it is a map".to_owned()),
            NftContents::Concatenations | NftContents::Other => {
                Some("its entries are not plain addresses".to_owned())
            }
            NftContents::Addresses => (self.exceptions.len() > MOST_EXCEPTIONS)
                .then(|| format!("it has more than {MOST_EXCEPTIONS} exceptions (nomatch)")),
        }
    }

    /// Why the set may be something else than a block list.
    fn doubt(&self, has_rules: bool, is_ours: bool) -> Option<String> {
        let (uses, count) = (&self.uses, self.exceptions.len() as u64);
        if uses.negate {
            Some("a rule matches what is not in it".to_owned())
        } else if uses.accept {
            Some("a rule accepts it".to_owned())
        } else if uses.other {
            Some("a rule does something else than drop all its packets".to_owned())
        } else if uses.filled && !uses.drop {
            Some("rules fill it and none drops it".to_owned())
        } else if has_rules && !uses.drop {
            Some("no rule drops it".to_owned())
        } else if let Some(of) = &uses.member_of {
            Some(format!("it is a member of set {}", printable::word(of)))
        } else if uses.edited {
            Some("a later line deletes, flushes, renames or swaps it".to_owned())
        } else if count > 0 {
            Some(format!("it has {} (nomatch)", counted_as(count, ["exception", "exceptions"])))
        } else if is_ours || self.is_marked_as_allowing() {
            // In an export of filterd, the end of the name says whether it allows.
            None
        } else {
            allow_word_in(&self.name).map(|word| format!("its name contains `{word}`"))
        }
    }

    /// Returns whether the name ends with `.allow`, as filterd's own exports name a set that allows.
    fn is_marked_as_allowing(&self) -> bool {
        set_name::list(unprefixed(&self.name)).is_some_and(|(_, allow)| allow)
    }

    /// The set's entries, each with the exceptions of the set.
    fn into_rows(self, allow: bool, is_ours: bool) -> impl Iterator<Item = Row> {
        let Self { rows, exceptions, .. } = self;
        let exceptions: Arc<[Target]> = exceptions.into();
        rows.into_iter().map(move |row| {
            row.map(|(line, item)| {
                (line, ImportedEntry { allow, is_ours, exceptions: exceptions.clone(), ..item })
            })
        })
    }
}

fn full_names<'a>(sets: impl IntoIterator<Item = &'a ForeignSet>) -> String {
    let names: Vec<_> = sets.into_iter().map(|set| printable::word(&set.full_name())).collect();
    names.join(", ")
}

/// The part of a name that suggests that the set allows.
fn allow_word_in(name: &str) -> Option<&'static str> {
    let name = BLOCK_PARTS.iter().fold(name.to_ascii_lowercase(), |name, part| name.replace(part, ""));
    let mut words = name.split(|sign: char| !sign.is_ascii_alphanumeric());
    ALLOW_PARTS
        .into_iter()
        .find(|part| name.contains(part))
        .or_else(|| words.find_map(|word| ALLOW_WORDS.into_iter().find(|allowing| *allowing == word)))
}

impl SetPlan {
    /// Formats the plan in one line of text.
    pub fn line(&self) -> String {
        let table = self.table.as_ref().map(|table| format!(" of {}", printable::excerpt(table)));
        let name = format!("{}{}", printable::word(&self.name), table.unwrap_or_default());
        let entries = counted_as(self.entries, ["entry", "entries"]);
        let minus = match self.exceptions {
            0 => String::new(),
            count => format!(", minus {}", counted_as(count, ["exception", "exceptions"])),
        };
        match (self.action, &self.reason) {
            (SetAction::Block, _) => format!("set {name}: {entries} to block{minus}"),
            (SetAction::Allow, _) => format!("set {name}: {entries} to allow{minus}"),
            (SetAction::Skip, _) => format!("set {name}: {entries} skipped"),
            (SetAction::LeaveOut, reason) => {
                format!("set {name}: {entries} left out, because {}", reason.as_deref().unwrap_or_default())
            }
        }
    }

    /// The error for a set that was left out.
    pub fn fault(&self) -> Option<Explanation> {
        let (SetAction::LeaveOut, Some(reason)) = (self.action, &self.reason) else { return None };
        let name = printable::excerpt(&self.name);
        let message = format!("set `{name}` was not imported, because {reason}");
        let remedy = if self.is_doubtful {
            format!("pass `--block {name}`, `--allow {name}` or `--skip {name}`")
        } else {
            format!(
                "filterd lists hold addresses, prefixes and ranges; to leave it out, pass `--skip {name}`"
            )
        };
        Some(Explanation::new(message, remedy))
    }
}
