//! Decides what an import does with each set of ipset or nftables. Some sets allow instead of block. The set does not say so:
//! only the rules, the name or the operator do. So an import reads all sets before it sends any, and leaves doubtful ones out.

use std::io::{self, Read};

use filter_common::target::{Span, Target};
use serde::Serialize;

use super::list_of::Begun;
use super::nft::unprefixed;
use super::plain::fault;
use super::row::{Rejected, Row};
use super::{Fault, Item, set_name};
use crate::command::render::figure::counted_as;
use crate::source::format::nft::{Element, Holds, Part, Table, Verdict};
use crate::source::format::{self, Lack, ipset};
use crate::source::{Reason, special};
use crate::text::lines::Lines;
use crate::text::{Explanation, printable};

/// A set may allow if its name contains one of these.
const ALLOW_PARTS: [&str; 10] =
    ["white", "allow", "accept", "trust", "permit", "exempt", "bypass", "ignore", "friend", "safe"];

/// A set may allow if one of these is a whole word of its name.
const ALLOW_WORDS: [&str; 9] = ["wl", "ok", "own", "local", "lan", "vpn", "admin", "admins", "office"];

/// The most exceptions of a set: an import compares each entry with all of them.
const MOST_EXCEPTIONS: usize = 256;

/// All sets of an input, in order.
#[derive(Debug, Default)]
pub struct ForeignSets {
    sets: Vec<ForeignSet>,
    /// Lines that belong to no set and cannot be read.
    rejected: Vec<Row>,
}

#[derive(Debug)]
struct ForeignSet {
    name: String,
    /// Of nftables, where two tables may have a set of the same name.
    table: Option<Table>,
    holds: Holds,
    rows: Vec<Row>,
    /// Entries with `nomatch`.
    exceptions: Vec<Target>,
    /// The number of elements that are more than addresses.
    others: u64,
    uses: Uses,
}

/// What rules do with the packets of a set.
#[derive(Clone, Copy, Debug, Default)]
struct Uses {
    accept: bool,
    negate: bool,
    other: bool,
}

/// What the operator says about sets, by name.
#[derive(Clone, Debug, Default)]
pub struct SetChoice {
    /// Sets that block.
    pub block: Vec<String>,
    /// Sets that allow.
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
    /// Would `--block` or `--allow` import it?
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
        let (begun, mut found, mut rows) = (Begun::now(), Self::default(), format::Ipset::default());
        let mut lines = Lines::new(input);
        while let Some(line) = lines.read()? {
            let number = Some(line.number);
            let Some((content, entry)) = rows.entry(&line) else { continue };
            let Some(name) = ipset::set_of(&line) else {
                let fault = fault(content, Reason::Form);
                found.rejected.push(Err(Rejected { line: number, fault }));
                continue;
            };
            let set = found.entry_of(&String::from_utf8_lossy(name), None);
            match entry {
                Err(_) if rows.holds_more(name) => {
                    (set.holds, set.others) = (Holds::Concatenations, set.others + 1);
                }
                Err(reason) => {
                    set.rows.push(Err(Rejected { line: number, fault: fault(content, reason) }));
                }
                Ok(entry) if entry.is_exception => set.exceptions.extend(entry.span),
                Ok(entry) => {
                    let left = (entry.timeout > 0).then_some(entry.timeout);
                    let comment = entry.comment.map(String::from_utf8_lossy);
                    set.push(begun, entry.span, left, comment.as_deref(), number);
                }
            }
        }
        Ok((found, lines.position()))
    }

    /// Reads the output of `nft -j list`.
    pub fn read_nft(input: impl Read) -> io::Result<(Self, Option<Lack>)> {
        let (begun, mut found, mut uses) = (Begun::now(), Self::default(), Vec::new());
        let lack = format::nft::read(input, |part| {
            match part {
                Part::Element(element) => found.add_element(begun, element),
                Part::Set(set) => found.entry_of(&set.name, Some(&set.table)).holds = set.holds,
                Part::Rule(rule) => {
                    let used = Uses {
                        accept: rule.verdict == Some(Verdict::Accept),
                        negate: rule.is_negated,
                        other: rule.verdict == Some(Verdict::Other),
                    };
                    uses.extend(rule.sets.iter().map(|set| (set.clone(), rule.table.clone(), used)));
                }
            }
            false
        })?;
        // Rules may come before the sets they use.
        for (name, table, used) in uses {
            let all = &mut found.entry_of(&name, Some(&table)).uses;
            all.accept |= used.accept;
            all.negate |= used.negate;
            all.other |= used.other;
        }
        Ok((found, lack))
    }

    fn add_element(&mut self, begun: Begun, element: Element<'_>) {
        let Element { shown, span, set: of, left, comment, .. } = element;
        let set = self.entry_of(&of.name, Some(&of.table));
        set.holds = of.holds;
        match span {
            _ if of.holds != Holds::Addresses => set.others += 1,
            Ok(span) => set.push(begun, span, left, comment, None),
            Err(reason) => {
                let fault = fault(shown.as_bytes(), reason);
                set.rows.push(Err(Rejected { line: None, fault }));
            }
        }
    }

    /// The set of this name, which is made if it is new.
    fn entry_of(&mut self, name: &str, table: Option<&Table>) -> &mut ForeignSet {
        let is_it = |set: &ForeignSet| set.name == name && set.table.as_ref() == table;
        // Nearly always it is the last one.
        let at = self.sets.iter().rposition(is_it).unwrap_or_else(|| {
            self.sets.push(ForeignSet::new(name, table));
            self.sets.len() - 1
        });
        &mut self.sets[at]
    }

    /// Returns the entries to import, and what happens to each set that has entries.
    ///
    /// # Errors
    /// When `choice` names a set that does not exist, or says two things about one.
    pub fn choose(self, choice: &SetChoice) -> Result<(Vec<Row>, Vec<SetPlan>), Explanation> {
        choice.check(&self.sets)?;
        let (mut rows, mut plans) = (self.rejected, Vec::new());
        for set in self.sets.into_iter().filter(|set| !set.is_empty() && choice.includes(&set.name)) {
            let plan = set.plan(choice);
            match plan.action {
                SetAction::Block => rows.extend(set.into_rows(false)),
                SetAction::Allow => rows.extend(set.into_rows(true)),
                SetAction::LeaveOut | SetAction::Skip => {}
            }
            plans.push(plan);
        }
        Ok((rows, plans))
    }
}

impl SetChoice {
    /// Does it say nothing?
    pub fn is_empty(&self) -> bool {
        self.names().next().is_none()
    }

    fn names(&self) -> impl Iterator<Item = &String> {
        [&self.block, &self.allow, &self.only, &self.skip].into_iter().flatten()
    }

    /// `--only` hides the other sets, unless another option names them.
    fn includes(&self, name: &str) -> bool {
        self.only.is_empty() || self.names().any(|chosen| chosen == name)
    }

    fn check(&self, sets: &[ForeignSet]) -> Result<(), Explanation> {
        if let Some(name) = self.names().find(|name| sets.iter().all(|set| set.name != **name)) {
            let names: Vec<_> = sets.iter().map(|set| printable::word(&set.name)).collect();
            let known = if names.is_empty() {
                "the input has no sets".to_owned()
            } else {
                format!("the sets are {}", names.join(", "))
            };
            return Err(Explanation::new(format!("no set is called {}", printable::word(name)), known));
        }
        let is_in = |names: &[String], name: &String| names.contains(name);
        let contradicts = |name: &&String| {
            [&self.block, &self.allow, &self.skip].into_iter().filter(|names| is_in(names, name)).count() > 1
        };
        self.names().find(contradicts).map_or(Ok(()), |name| {
            let message = format!("two options contradict each other about set {}", printable::word(name));
            Err(Explanation::new(message, "give one of --block, --allow and --skip for each set"))
        })
    }
}

impl ForeignSet {
    fn new(name: &str, table: Option<&Table>) -> Self {
        Self {
            name: name.to_owned(),
            table: table.cloned(),
            holds: Holds::Addresses,
            rows: Vec::new(),
            exceptions: Vec::new(),
            others: 0,
            uses: Uses::default(),
        }
    }

    fn push(
        &mut self,
        begun: Begun,
        span: Span,
        left: Option<u64>,
        comment: Option<&str>,
        line: Option<u64>,
    ) {
        let item = begun.item(span, unprefixed(&self.name), left, comment);
        self.rows.push(item.map(|item| (line, item)).map_err(|fault: Fault| Rejected { line, fault }));
    }

    /// A set of ports or interfaces has nothing for a list, either.
    fn is_empty(&self) -> bool {
        self.holds == Holds::Other || self.rows.is_empty() && self.exceptions.is_empty() && self.others == 0
    }

    fn plan(&self, choice: &SetChoice) -> SetPlan {
        let has = |names: &[String]| names.contains(&self.name);
        let is_importable = self.holds == Holds::Addresses && self.exceptions.len() <= MOST_EXCEPTIONS;
        let (action, reason) = if has(&choice.skip) {
            (SetAction::Skip, None)
        } else if let Some(reason) = self.obstacle() {
            (SetAction::LeaveOut, Some(reason))
        } else if has(&choice.block) {
            (SetAction::Block, None)
        } else if has(&choice.allow) {
            (SetAction::Allow, None)
        } else if let Some(doubt) = self.doubt() {
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
            is_doubtful: action == SetAction::LeaveOut && is_importable,
            action,
            reason,
        }
    }

    /// Why no list can hold it.
    fn obstacle(&self) -> Option<String> {
        match self.holds {
            Holds::Mappings => Some("it is a map".to_owned()),
            Holds::Concatenations | Holds::Other => Some("its entries are more than addresses".to_owned()),
            Holds::Addresses => (self.exceptions.len() > MOST_EXCEPTIONS)
                .then(|| format!("it has more than {MOST_EXCEPTIONS} exceptions (nomatch)")),
        }
    }

    /// Why it may be something else than a block list.
    fn doubt(&self) -> Option<String> {
        let count = self.exceptions.len() as u64;
        if self.uses.accept {
            Some("a rule accepts it".to_owned())
        } else if self.uses.negate {
            Some("a rule matches what is not in it".to_owned())
        } else if self.uses.other {
            Some("a rule does not drop it but jumps or returns".to_owned())
        } else if count > 0 {
            Some(format!("it has {} (nomatch)", counted_as(count, ["exception", "exceptions"])))
        } else if self.is_marked_as_allowing() {
            None
        } else {
            allow_word_in(&self.name).map(|word| format!("its name contains `{word}`"))
        }
    }

    /// filterd's own exports end the name of a set that allows with `.allow`.
    fn is_marked_as_allowing(&self) -> bool {
        set_name::list(unprefixed(&self.name)).is_some_and(|(_, allow)| allow)
    }

    /// Its entries, without the addresses of its exceptions.
    fn into_rows(self, allow: bool) -> Vec<Row> {
        let Self { rows, exceptions, .. } = self;
        let mut all = Vec::with_capacity(rows.len());
        for row in rows {
            let Ok((line, item)) = row else {
                all.push(row);
                continue;
            };
            let item = Item { allow, ..item };
            let has_exception = |target: Target| exceptions.iter().any(|exception| target.covers(exception));
            if !item.span.into_iter().any(has_exception) {
                all.push(Ok((line, item)));
                continue;
            }
            let left = special::minus(item.span, &exceptions);
            all.extend(left.iter().map(|target| Ok((line, Item { span: target.into(), ..item.clone() }))));
        }
        all
    }
}

/// The part of a name that suggests that the set allows.
fn allow_word_in(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    let mut words = name.split(|sign: char| !sign.is_ascii_alphanumeric());
    ALLOW_PARTS
        .into_iter()
        .find(|part| name.contains(part))
        .or_else(|| words.find_map(|word| ALLOW_WORDS.into_iter().find(|allowing| *allowing == word)))
}

impl SetPlan {
    /// A line for people.
    pub fn line(&self) -> String {
        let (name, entries) = (printable::word(&self.name), counted_as(self.entries, ["entry", "entries"]));
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

    /// The error, if it was left out.
    pub fn fault(&self) -> Option<Explanation> {
        let (SetAction::LeaveOut, Some(reason)) = (self.action, &self.reason) else { return None };
        let name = printable::excerpt(&self.name);
        let message = format!("set `{name}` was not imported, because {reason}");
        let remedy = if self.is_doubtful {
            format!("say what it is for: `--block {name}`, `--allow {name}` or `--skip {name}`")
        } else {
            format!(
                "filterd lists hold addresses, prefixes and ranges; `--skip {name}` accepts that it is left out"
            )
        };
        Some(Explanation::new(message, remedy))
    }
}
