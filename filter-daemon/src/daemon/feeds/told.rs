//! Reports the state of feeds to users.

use std::collections::HashMap;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use filter_common::target::Target;

use super::{FeedState, Feeds};
use crate::blocklist::{Blocklist, Polarity};
use crate::clock;
use crate::config::Config;
use crate::control::wire::lists::{self, Fetching, Trouble};
use crate::control::wire::refresh::Transfer;
use crate::control::wire::{About, Fault};
use crate::source::reading::{AcceptedSource, SourceReadings};
use crate::text::{Explanation, date, printable};

impl Feeds {
    /// The lists that could not be fetched.
    pub fn faults(&self, blocklist: &Blocklist, sources: &SourceReadings) -> Vec<Fault> {
        let all = self.feeds.values().flat_map(|fed| fed.lists.iter().map(move |list| (list, fed)));
        let failed = all.filter_map(|(list, fed)| {
            Some((fed.told(list, blocklist, sources)?, fed.failed.as_ref()?.since))
        });
        failed
            .map(|(told, since)| Fault {
                about: About::Lists,
                since: clock::on_the_wall(since),
                told,
                id: None,
            })
            .collect()
    }

    /// Fetches wait while a trial runs, so that a list without stored content is not tried.
    pub fn warnings_of_a_trial(&self) -> Vec<String> {
        let new = self.feeds.values().filter(|fed| fed.note.is_none()).flat_map(|fed| &fed.lists);
        let told = |list| {
            format!(
                "list \"{list}\" was never fetched and is not part of the trial: it takes effect after `filterd confirm`"
            )
        };
        new.map(told).collect()
    }

    /// The URL of this list, if it is fetched.
    pub fn url(&self, list: &str) -> Option<String> {
        Some(self.of(list)?.feed.url.to_string())
    }

    /// The transfer of the last fetch of this list, if that succeeded.
    pub fn transfer(&self, list: &str) -> Option<Transfer> {
        self.of(list)?.transfer
    }

    /// Why this list could not be fetched, if the last fetch failed.
    pub fn trouble(
        &self,
        list: &str,
        blocklist: &Blocklist,
        sources: &SourceReadings,
    ) -> Option<Explanation> {
        self.of(list)?.told(&list.into(), blocklist, sources)
    }

    /// Adds where lists come from, and the state of their fetches.
    pub fn tell(
        &self,
        lists: &mut [lists::ListDetails],
        config: &Config,
        (blocklist, sources): (&Blocklist, &SourceReadings),
    ) {
        let said: HashMap<&str, &Path> =
            config.lists.iter().map(|said| (said.name.as_str(), said.path.as_path())).collect();
        for list in lists {
            list.origin = said.get(list.name.as_str()).map(|path| shown(path));
            let Some(fed) = self.of(&list.name) else { continue };
            "url".clone_into(&mut list.kind);
            let note = fed.note.as_ref();
            list.fetching = Some(Fetching {
                fetched: note.map(|note| note.fetched),
                checked: note.map(|note| note.checked),
                next: clock::on_the_wall(fed.next.max(clock::now())),
                now: fed.running.is_some(),
                failed: fed
                    .told(&list.name.as_str().into(), blocklist, sources)
                    .zip(fed.failed.as_ref())
                    .map(|(told, failed)| Trouble { since: clock::on_the_wall(failed.since), told }),
            });
        }
    }

    fn of(&self, list: &str) -> Option<&FeedState> {
        self.feeds.values().find(|fed| fed.lists.contains(list))
    }
}

impl FeedState {
    fn told(&self, list: &Arc<str>, blocklist: &Blocklist, sources: &SourceReadings) -> Option<Explanation> {
        let failed = self.failed.as_ref()?;
        let id = blocklist.lists().find(list);
        let entries = id.map_or(0, |id| blocklist.lists().get(id).entries);
        let accepted = id.and_then(|id| sources.accepted(id));
        let message = format!(
            "list \"{list}\" cannot be fetched from {}: {}\n{}",
            self.feed.url,
            failed.told.message,
            in_force(entries, accepted)
        );
        let again = format!("filterd retries by itself\nto retry now: filterd lists refresh {list}");
        let again = Some(again).filter(|_| !failed.is_for_good);
        let blocked = self.blocked_server(blocklist).map(|server| {
            format!(
                "filterd itself blocks {server}, a server of this list: `filterd test {server}` shows why"
            )
        });
        let remedy: Vec<_> = blocked.into_iter().chain(failed.told.remedy.clone()).chain(again).collect();
        Some(Explanation::new(message, remedy.join("\n")))
    }
}

impl FeedState {
    /// Returns a server of this feed whose answers filterd drops: one that the URL names by address, or one
    /// that it was fetched from before.
    fn blocked_server(&self, blocklist: &Blocklist) -> Option<IpAddr> {
        let named = self.feed.url.host().parse().ok();
        let reached = self.reached.iter().flat_map(|reached| &reached.from).copied();
        named.into_iter().chain(reached).find(|server| {
            let covered =
                |polarity| !blocklist.covering(polarity, Target::from(server.to_canonical())).is_empty();
            covered(Polarity::Block) && !covered(Polarity::Allow)
        })
    }
}

/// The entries that remain in force, as text.
fn in_force(entries: u64, accepted: Option<&AcceptedSource>) -> String {
    let read = |accepted: &AcceptedSource| format!(" read on {}", date::utc(clock::on_the_wall(accepted.at)));
    let of = accepted.map(read).unwrap_or_default();
    match entries {
        0 => "it has no entries".to_owned(),
        1 => format!("its entry{of} remains in force"),
        entries => format!("its {entries} entries{of} remain in force"),
    }
}

fn shown(path: &Path) -> String {
    printable::path(path).to_string()
}
