//! What a guest does, and what is left to do when a test in it hangs.

use std::fmt;

use anyhow::Result;

use super::guest::Stage;
use crate::kept::verifier::Extent;

/// A stage, and the words for its test program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub stage: Stage,
    pub words: Vec<String>,
}

/// In order. tests/vm/init.sh reads it, a line a step.
#[derive(Debug, PartialEq, Eq)]
pub struct Plan(pub Vec<Step>);

impl Plan {
    /// As a guest reads it, which walks this many judges before its verifier.
    pub fn text(&self, extent: Extent) -> String {
        format!("{}\n{self}", extent.word())
    }
}

impl Plan {
    /// The tests that ran when the guest hung. The plan keeps only what comes after them. `list` gives the tests of a step in
    /// the order in which its program runs them.
    pub fn leave_hanging(
        &mut self,
        stage: &str,
        ended: &[String],
        list: impl Fn(&Step) -> Result<Vec<String>>,
    ) -> Result<Vec<String>> {
        let Some(at) = self.0.iter().position(|step| step.stage.to_string() == stage) else {
            self.0.clear();
            return Ok(vec!["the boot".to_owned()]);
        };
        self.0.drain(..at);
        let step = &mut self.0[0];
        let mut left = list(step)?;
        left.retain(|test| !ended.contains(test));
        let rest = left.split_off(step.stage.jobs().min(left.len()));
        if rest.is_empty() {
            self.0.remove(0);
        } else {
            step.words = [vec!["--exact".to_owned()], rest].concat();
        }
        Ok(left)
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|Step { stage, words }| writeln!(out, "{stage} {}", words.join(" ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(stage: Stage, words: &[&str]) -> Step {
        Step { stage, words: words.iter().map(ToString::to_string).collect() }
    }

    #[test]
    fn tests_around_a_hanging_one_still_run() {
        let list = |_: &Step| Ok(["a", "b", "c", "d"].map(ToOwned::to_owned).to_vec());
        let ended = ["a".to_owned()];
        for (stage, hanging, rest) in [
            (
                "program",
                &["b"][..],
                vec![step(Stage::Program, &["--exact", "c", "d"]), step(Stage::Network, &[])],
            ),
            ("network", &["b", "c"], vec![step(Stage::Network, &["--exact", "d"])]),
            ("modules", &["the boot"], vec![]),
        ] {
            let mut plan = Plan(vec![step(Stage::Program, &[]), step(Stage::Network, &[])]);
            assert_eq!(plan.leave_hanging(stage, &ended, list).unwrap(), hanging, "{stage}");
            assert_eq!(plan, Plan(rest), "{stage}");
        }
    }

    #[test]
    fn a_stage_whose_last_tests_hang_is_over() {
        let list = |_: &Step| Ok(vec!["a".to_owned()]);
        let mut plan = Plan(vec![step(Stage::Network, &[]), step(Stage::Verifier, &["x"])]);
        assert_eq!(plan.leave_hanging("network", &[], list).unwrap(), ["a"]);
        assert_eq!(plan.to_string(), "verifier x\n");
    }
}
