//! What was aimed at, and whether it holds where it was measured.

use crate::tables::Table;

/// One goal.
#[derive(Debug)]
pub struct Goal {
    words: String,
    measured: f64,
    holds: bool,
}

/// By these heads `cargo xtask bench` knows tables of goals in the pages.
const HEADS: [&str; 3] = ["goal", "measured", "holds"];

impl Goal {
    /// At most so much.
    pub fn most(what: &str, measured: f64, limit: f64) -> Self {
        let measured = as_told(measured);
        Self { words: format!("{what} ≤ {limit}"), measured, holds: measured <= limit }
    }

    /// At least so much.
    pub fn least(what: &str, measured: f64, limit: f64) -> Self {
        let measured = as_told(measured);
        Self { words: format!("{what} ≥ {limit}"), measured, holds: measured >= limit }
    }

    fn row(self) -> Vec<String> {
        let holds = if self.holds { "yes" } else { "no" };
        vec![self.words, format!("{:.2}", self.measured), holds.to_owned()]
    }
}

/// With two digits behind the point, so that nothing holds or fails by what nobody sees.
fn as_told(measured: f64) -> f64 {
    (measured * 100.0).round() / 100.0
}

/// All of them.
pub fn table(title: &str, goals: impl IntoIterator<Item = Goal>) -> Table {
    Table {
        title: title.to_owned(),
        heads: HEADS.map(str::to_owned).into(),
        rows: goals.into_iter().map(Goal::row).collect(),
    }
}
