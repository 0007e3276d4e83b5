//! Reports the state of CrowdSec to users.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::CrowdSec;
use super::enforce::RefusedEntries;
use super::source::{LapiSource, held_back};
use crate::clock;
use crate::command::render::figure::counted_as;
use crate::control::wire::crowdsec::{self, OriginList};
use crate::control::wire::{About, Fault};
use crate::crowdsec::Skipped;
use crate::text::{Explanation, printable};

/// How many seconds a first answer may take before it is a fault.
const WAITED: i64 = 5;

/// How many seconds any answer may take before it is a fault. `timeout` may be much longer.
const OVERDUE: i64 = 30;

impl CrowdSec {
    /// Everything that is not as the configuration says.
    pub fn faults(&self) -> Vec<Fault> {
        let faults = self.sources.iter().filter_map(|source| {
            let (since, told) = source.trouble()?;
            Some(Fault { about: About::Lists, since: clock::on_the_wall(since), told, id: None })
        });
        faults.collect()
    }

    /// The state of each LAPI. `guarded` says how many guarded addresses each list has.
    pub fn status(&self, guarded: &BTreeMap<Arc<str>, u64>) -> Vec<crowdsec::CrowdSecState> {
        // What a kill would lose is not called enforced yet.
        let pending =
            |name: &str| self.work.as_ref().map_or(0, |work| work.pending(name)) + self.unwritten.of(name);
        self.sources.iter().map(|source| source.status(pending(&source.config.name), guarded)).collect()
    }
}

impl LapiSource {
    /// What is wrong, and since when.
    fn trouble(&self) -> Option<(crate::blocklist::Timestamp, Explanation)> {
        let name = &self.config.name;
        let entries = self.book.entries() as u64;
        let kept = || match entries {
            0 => "nothing of it is blocked yet".to_owned(),
            1 => "its entry remains in force until it ends".to_owned(),
            entries => format!("its {entries} entries remain in force until they end"),
        };
        if let Some(failed) = &self.failed {
            let message = format!(
                "CrowdSec \"{name}\" ({}): {}\n{}",
                self.config.shown_url(),
                failed.told.message,
                kept()
            );
            let remedy = [failed.told.remedy.clone(), Some("filterd retries by itself".to_owned())];
            let remedy: Vec<_> = remedy.into_iter().flatten().collect();
            return Some((failed.since, Explanation::new(message, remedy.join("\n"))));
        }
        let waited = clock::now().after(self.awaited_since);
        if self.connected_since.is_none() && waited >= WAITED {
            let message = format!("CrowdSec \"{name}\" ({}) has not answered yet", self.config.shown_url());
            let remedy =
                "check that CrowdSec runs and that nothing drops its answers: systemctl status crowdsec";
            return Some((self.awaited_since, Explanation::new(message, remedy)));
        }
        if let Some(asked) = self.asked_at().filter(|asked| clock::now().after(*asked) >= OVERDUE) {
            let (url, silent) = (self.config.shown_url(), clock::now().after(asked));
            let message = format!("CrowdSec \"{name}\" ({url}) has not answered for {silent} s\n{}", kept());
            let remedy = "check that it runs and is not stopped: systemctl status crowdsec";
            return Some((asked, Explanation::new(message, remedy)));
        }
        let about = |told: Explanation| Explanation {
            message: format!("CrowdSec \"{name}\": {}", told.message),
            remedy: told.remedy,
        };
        let since = self.last_pull.unwrap_or_else(clock::now);
        if let Some(refused) = &self.refused {
            return Some((since, about(refused.told())));
        }
        if let Some(told) = &self.networks.trouble {
            return Some((since, about(told.clone())));
        }
        if self.held_back > 0 {
            return Some((since, about(held_back(self.held_back))));
        }
        let without = self.book.unresolved();
        if without > 0 {
            return Some((since, about(self.unresolved(without))));
        }
        self.left_out().map(|told| (since, about(told)))
    }

    /// Why decisions of the last full answer are left out, although they have an accepted type.
    fn left_out(&self) -> Option<Explanation> {
        let Skipped { too_wide, malformed, example, .. } = &self.skipped;
        if *too_wide > 0 {
            let decisions = counted_as(*too_wide, ["decision is", "decisions are"]);
            let message = format!("{decisions} left out: ranges wider than a /8, or a /16 of IPv6");
            return Some(Explanation::new(
                message,
                "to see them, on the host of CrowdSec: cscli decisions list",
            ));
        }
        (*malformed > 0).then(|| {
            let decisions = counted_as(*malformed, ["decision is", "decisions are"]);
            let example = example.as_deref().unwrap_or_default();
            let message = format!("{decisions} left out: {}", printable::on_one_line(example));
            Explanation::new(message, "delete them there: cscli decisions delete")
        })
    }

    /// Why decisions on systems or countries are not enforced.
    pub(super) fn unresolved(&self, without: u64) -> Explanation {
        let decisions = counted_as(without, ["decision names", "decisions name"]);
        let message =
            format!("{decisions} an AS or a country that no database knows, and cannot be enforced");
        let remedy = if self.config.database.is_empty() {
            "name a database: `database: PATH` under `crowdsec:`, then run `filterd reload`\n\
             or do not ask for them: `scopes: [ip, range]`"
        } else {
            "use a newer database, or one that has both systems and countries"
        };
        Explanation::new(message, remedy)
    }

    fn status(&self, pending: u64, guarded: &BTreeMap<Arc<str>, u64>) -> crowdsec::CrowdSecState {
        let wall = |then: Option<crate::blocklist::Timestamp>| then.map(clock::on_the_wall);
        let refused = self.refused.as_ref().map_or(0, RefusedEntries::count);
        let lists: Vec<_> = self
            .book
            .by_origin()
            .map(|(origin, list, decisions)| OriginList {
                list: list.to_string(),
                origin: origin.to_string(),
                decisions,
            })
            .collect();
        crowdsec::CrowdSecState {
            name: self.config.name.clone(),
            url: self.config.shown_url(),
            connected_since: wall(self.connected_since),
            last_pull: wall(self.last_pull),
            received: self.received,
            decided: self.book.decided(),
            enforced: self.book.enforced().saturating_sub(pending + refused),
            unconfirmed: self.book.unconfirmed(),
            guarded: self.lists().iter().filter_map(|list| guarded.get(list)).sum(),
            without_networks: self.book.unresolved(),
            other_types: self.skipped.by_type,
            not_understood: self.skipped.by_scope + self.skipped.malformed,
            too_wide: self.skipped.too_wide,
            held_back: self.held_back,
            missed: self.missed,
            lists,
            error: self.trouble().map(|(_, told)| told),
        }
    }
}
