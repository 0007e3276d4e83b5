//! Reports the lists and their counts.

use std::collections::HashSet;

use filter_common::labels::{Label, OTHER};

use super::{ActiveCounting, Counting, OutcomeCounts, recent};
use crate::blocklist::{Blocklist, LabelName, ListId, Polarity};
use crate::clock;
use crate::control::wire::{self, Hits, lists};
use crate::daemon::commit::Protection;
use crate::daemon::reload::written;
use crate::source::reading::{SourceReading, SourceReadings};
use crate::text::Explanation;

/// The counts, by label.
struct ReportedCounts {
    since: u64,
    counted: Vec<OutcomeCounts>,
    of_late: Option<(Vec<OutcomeCounts>, f64)>,
    gone: OutcomeCounts,
}

impl Counting {
    /// Reports every list with its counts.
    pub fn report(&mut self, protection: &Protection, sources: &SourceReadings) -> lists::Reply {
        self.look(protection);
        let told = self.on.as_ref().map(|on| on.told(&protection.filter().list_counters()));
        let blocklist = protection.blocklist();
        let lists = blocklist.lists().in_order();
        // A list that is being removed while another has its name is reported in the row of that one.
        let is_told = |id: &&ListId| !blocklist.lists().is_replaced(blocklist.lists().get(**id));
        let rows = lists.iter().filter(is_told);
        let rows = rows.map(|id| row(blocklist, *id, sources.of(*id), told.as_ref())).collect();
        lists::Reply {
            version: wire::VERSION,
            counted_since: told.as_ref().map(|told| told.since),
            rate_over: told.as_ref().and_then(|told| Some(to_a_tenth(told.of_late.as_ref()?.1))),
            other: told.as_ref().map(|told| hits(told.of(OTHER))).filter(|hits| !hits.is_none()),
            gone: told.as_ref().map(|told| hits(told.of_gone(blocklist))).filter(|hits| !hits.is_none()),
            lists: rows,
        }
    }

    /// The packets dropped for the list of a name since counting began. The list itself may be gone.
    pub fn dropped_by_list<'a>(&self, protection: &'a Protection) -> impl Fn(&str) -> u64 + 'a {
        let told = self.on.as_ref().map(|on| on.told(&protection.filter().list_counters()));
        move |name| {
            let number = protection.blocklist().number_of(name);
            let counted = told.as_ref().zip(number).map(|(told, (label, _))| hits(told.of(label)));
            counted.map_or(0, |hits| hits.dropped)
        }
    }
}

impl ActiveCounting {
    fn told(&self, counters: &[OutcomeCounts]) -> ReportedCounts {
        ReportedCounts {
            since: clock::on_the_wall(self.since),
            counted: self.recent.since_begun(counters),
            of_late: self.recent.of_late(counters, clock::instant()),
            gone: self.gone,
        }
    }
}

impl ReportedCounts {
    fn of(&self, label: Label) -> OutcomeCounts {
        self.counted.get(usize::from(label)).copied().unwrap_or_default()
    }

    fn rate(&self, label: Label) -> Option<f64> {
        let (more, seconds) = self.of_late.as_ref()?;
        let hits = hits(more.get(usize::from(label)).copied().unwrap_or_default());
        Some(to_a_tenth(hits.all() as f64 / seconds))
    }

    /// Counts of removed lists: those whose numbers other lists have taken, and those whose numbers are still
    /// unused.
    fn of_gone(&self, blocklist: &Blocklist) -> OutcomeCounts {
        let lists = blocklist.lists();
        let told = lists.iter().map(|(_, list)| list).filter(|list| !lists.is_replaced(list));
        let blocks = told.filter(|list| list.polarity == Polarity::Block);
        let names: HashSet<&str> = blocks.map(|list| &**list.called()).collect();
        let is_gone = |label| blocklist.number(label).is_none_or(|number| !names.contains(&*number.name));
        let labels = (0..=Label::MAX).zip(&self.counted).skip(usize::from(OTHER) + 1);
        let gone = labels.filter(|(label, _)| is_gone(*label));
        gone.fold(self.gone, |all, (_, counts)| recent::sum(all, *counts))
    }
}

fn row(
    blocklist: &Blocklist,
    id: ListId,
    reading: Option<&SourceReading>,
    told: Option<&ReportedCounts>,
) -> lists::ListDetails {
    let list = blocklist.lists().get(id);
    let blocks = list.polarity == Polarity::Block;
    let number = blocklist.number_of(list.called()).filter(|_| blocks);
    let counted = told.zip(number);
    let read = reading.and_then(|reading| reading.accepted.as_ref());
    lists::ListDetails {
        name: list.called().to_string(),
        kind: list.origin.name().to_owned(),
        allows: !blocks,
        ports: blocklist.clause(list).map(|clause| clause.to_string()),
        direction: list.direction.unusual_name().map(str::to_owned),
        guarded: 0,
        entries: blocklist.lists().entries_called(list),
        largest: read.map(|read| read.peaks.largest(clock::now())).filter(|largest| *largest > 0),
        shared: blocklist.shared_by(id),
        rejected: reading.map_or(0, |reading| reading.rejected),
        examples: reading.map(|reading| reading.examples.clone()).unwrap_or_default(),
        format: reading.map_or("", |reading| reading.format).to_owned(),
        special: reading.map_or(0, |reading| reading.special),
        expired: list.spent.len() as u64,
        hits: counted.map(|(told, (label, _))| hits(told.of(label))),
        since: counted.map(|(told, (_, number))| counted_since(told, number)),
        rate: counted.and_then(|(told, (label, _))| told.rate(label)),
        counted_with_others: told.is_some() && blocks && number.is_none(),
        written: reading.and_then(written),
        read: read.map(|read| clock::on_the_wall(read.at)),
        fault: reading.and_then(trouble),
        origin: None,
        fetching: None,
    }
}

fn counted_since(told: &ReportedCounts, number: &LabelName) -> u64 {
    told.since.max(clock::on_the_wall(number.since))
}

fn trouble(reading: &SourceReading) -> Option<lists::Trouble> {
    let trouble = reading.trouble.as_ref()?;
    let told = Explanation::new(trouble.message.clone(), trouble.remedy.clone());
    Some(lists::Trouble { since: clock::on_the_wall(trouble.since), told })
}

fn hits([dropped, would_drop, paused, replies]: OutcomeCounts) -> Hits {
    Hits { dropped, would_drop, paused, replies }
}

fn to_a_tenth(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}
