//! `filterd crowdsec status`: shows how many decisions of each CrowdSec are enforced.

use clap::Args;

use crate::command::ask::trouble::CommandError;
use crate::command::render::console::Console;
use crate::command::render::figure::{count, table};
use crate::command::render::moment::Clock;
use crate::control::client::{Client, Endpoint};
use crate::control::wire;
use crate::control::wire::crowdsec::{CrowdSecAnswer, CrowdSecState};
use crate::exit::Exit;

#[derive(Debug, Args)]
pub struct CrowdSecStatus {}

const NONE: &str = "filterd follows no CrowdSec: the configuration has no `crowdsec:`";

impl CrowdSecStatus {
    pub fn execute(&self, socket: &Endpoint, console: &mut Console) -> Result<Exit, CommandError> {
        let status = Client::connect(socket)?.call(&wire::Status {})?;
        let clock = console.clock();
        let answer = CrowdSecAnswer { version: status.version, crowdsec: status.crowdsec };
        console.answer(&answer, |answer| render(&answer.crowdsec, &clock))?;
        let is_well = answer.crowdsec.iter().all(|one| one.error.is_none());
        Ok(if is_well { Exit::Done } else { Exit::Partly })
    }
}

fn render(all: &[CrowdSecState], clock: &Clock) -> String {
    match all {
        [] => NONE.to_owned(),
        all => all.iter().map(|one| told(one, clock)).collect::<Vec<_>>().join("\n"),
    }
}

fn told(one: &CrowdSecState, clock: &Clock) -> String {
    let CrowdSecState { name, url, .. } = one;
    let mut text = match one.connected_since {
        Some(since) => format!("CrowdSec {name} at {url}: connected {}\n", clock.since(since)),
        None => format!("CrowdSec {name} at {url}: NOT CONNECTED\n"),
    };
    if let Some(error) = &one.error {
        let mut lines = error.lines();
        text += &format!("*** {} ***\n", lines.next().unwrap_or_default());
        text.extend(lines.map(|line| format!("    {line}\n")));
    }
    let rows = rows(one, clock);
    let width = rows.iter().map(|(title, _)| title.len()).max().unwrap_or_default();
    text.extend(rows.iter().map(|(title, figure)| format!("  {title:width$}  {figure}\n")));
    let lists: Vec<_> = one
        .lists
        .iter()
        .map(|list| {
            let decisions = if list.decisions == 1 { "decision" } else { "decisions" };
            [
                format!("list {}", list.list),
                format!("{} {decisions} of {}", count(list.decisions), list.origin),
            ]
        })
        .collect();
    text.extend(table(&lists).lines().map(|line| format!("  {line}\n")));
    text
}

fn rows(one: &CrowdSecState, clock: &Clock) -> Vec<(&'static str, String)> {
    let pull = one.last_pull.map_or_else(|| "none yet".to_owned(), |then| clock.ago(then));
    let enforced = match one.decided {
        0 => "0 of 0".to_owned(),
        decided => {
            format!("{} of {} ({})", count(one.enforced), count(decided), share(one.enforced, decided))
        }
    };
    let mut rows = vec![("last answer", pull), ("received", count(one.received)), ("enforced", enforced)];
    let further = [
        ("from before, to be confirmed", one.unconfirmed),
        ("guarded addresses, which pass", one.guarded),
        ("AS or country not in a database", one.without_networks),
        ("left out because of their type", one.other_types),
        ("left out: wider than a /8, or a /16 of IPv6", one.too_wide),
        ("not understood", one.not_understood),
        ("no longer named, kept", one.held_back),
        ("missing in differences, found later", one.missed),
    ];
    rows.extend(
        further.into_iter().filter(|(_, number)| *number > 0).map(|(title, number)| (title, count(number))),
    );
    rows
}

/// A part as a percentage. Only everything is 100%, and only nothing is 0%.
pub fn share(part: u64, whole: u64) -> String {
    let tenths = part.saturating_mul(1000) / whole.max(1);
    match tenths {
        0 if part > 0 => "less than 0.1%".to_owned(),
        1000 => "100%".to_owned(),
        tenths => format!("{}.{}%", tenths / 10, tenths % 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::wire::crowdsec::OriginList;
    use crate::text::Explanation;

    const NOW: u64 = 1_795_296_480;

    fn one() -> CrowdSecState {
        CrowdSecState {
            name: "main".into(),
            url: "http://127.0.0.1:8080".into(),
            connected_since: Some(NOW - 7200),
            last_pull: Some(NOW - 1),
            received: 15_004,
            decided: 15_002,
            enforced: 15_002,
            lists: vec![OriginList {
                list: "crowdsec-capi".into(),
                origin: "CAPI".into(),
                decisions: 15_002,
            }],
            ..CrowdSecState::default()
        }
    }

    #[test]
    fn everything_is_shown_that_an_operator_asks_for() {
        let expected = "\
CrowdSec main at http://127.0.0.1:8080: connected since 2 h ago
  last answer  1 s ago
  received     15,004
  enforced     15,002 of 15,002 (100%)
  list crowdsec-capi  15,002 decisions of CAPI
";
        assert_eq!(render(&[one()], &Clock::standing(NOW)), expected);
        assert_eq!(render(&[], &Clock::standing(NOW)), NONE);
    }

    #[test]
    fn what_is_not_enforced_stands_out() {
        let error = Some(Explanation::new("CrowdSec \"main\": it is so", "mend it"));
        let told = CrowdSecState { connected_since: None, error, enforced: 1, without_networks: 3, ..one() };
        let told = render(&[told], &Clock::standing(NOW));
        for line in [
            "CrowdSec main at http://127.0.0.1:8080: NOT CONNECTED",
            "*** CrowdSec \"main\": it is so ***",
            "    mend it",
            "1 of 15,002 (less than 0.1%)",
            "AS or country not in a database  3",
        ] {
            assert!(told.contains(line), "{line}: {told}");
        }
    }

    #[test]
    fn only_everything_is_a_hundred_percent() {
        let shares =
            [(0, 5), (1, 5000), (999, 1000), (9999, 10_000), (7, 7)].map(|(part, whole)| share(part, whole));
        assert_eq!(shares, ["0.0%", "less than 0.1%", "99.9%", "99.9%", "100%"]);
    }
}
