//! Decisions in the words of LAPI.

use serde_json::{Value, json};

/// A decision as LAPI has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LapiDecision {
    /// LAPI numbers its decisions. A real one ignores this number.
    pub id: u64,
    /// Such as `cscli`, `crowdsec`, `CAPI` or `lists:NAME`.
    pub origin: String,
    /// Such as `ban`.
    pub kind: String,
    /// Such as `Ip`, `Range`, `AS` or `Country`.
    pub scope: String,
    /// What is banned.
    pub value: String,
    /// In how many seconds it ends. It has ended if that is negative.
    pub seconds: i64,
    /// Why.
    pub scenario: String,
}

impl LapiDecision {
    /// A ban of an address by cscli, for four hours.
    pub fn new(id: u64, address: &str) -> Self {
        Self {
            id,
            origin: "cscli".to_owned(),
            kind: "ban".to_owned(),
            scope: "Ip".to_owned(),
            value: address.to_owned(),
            seconds: 4 * 3600,
            scenario: "manual 'ban' from 'tests'".to_owned(),
        }
    }

    /// The same with another scope.
    pub fn of_scope(mut self, scope: &str) -> Self {
        scope.clone_into(&mut self.scope);
        self
    }

    /// The same from another origin.
    pub fn from_origin(mut self, origin: &str) -> Self {
        origin.clone_into(&mut self.origin);
        self
    }

    /// The same with another type.
    pub fn of_kind(mut self, kind: &str) -> Self {
        kind.clone_into(&mut self.kind);
        self
    }

    /// The same for so many seconds.
    pub fn lasting(mut self, seconds: i64) -> Self {
        self.seconds = seconds;
        self
    }

    /// The same by another scenario.
    pub fn by_scenario(mut self, scenario: &str) -> Self {
        scenario.clone_into(&mut self.scenario);
        self
    }

    /// As a machine reports it.
    pub(super) fn reported(&self) -> Value {
        json!({
            "duration": duration(self.seconds), "origin": self.origin, "scenario": self.scenario,
            "scope": self.scope, "type": self.kind, "value": self.value,
        })
    }

    /// As bouncers see it.
    pub(super) fn published(&self) -> Value {
        let mut published = self.reported();
        published["id"] = self.id.into();
        published["uuid"] = format!("00000000-0000-4000-8000-{:012x}", self.id).into();
        published
    }
}

/// The scope as LAPI stores it. Deletes name it exactly like this.
pub fn stored_scope(scope: &str) -> &str {
    ["Ip", "Range", "AS", "Country"]
        .into_iter()
        .find(|known| known.eq_ignore_ascii_case(scope))
        .unwrap_or(scope)
}

/// Go's words for so many seconds.
fn duration(seconds: i64) -> String {
    let (sign, all) = (if seconds < 0 { "-" } else { "" }, seconds.unsigned_abs());
    let (hours, minutes, seconds) = (all / 3600, all / 60 % 60, all % 60);
    match (hours, minutes) {
        (0, 0) => format!("{sign}{seconds}s"),
        (0, _) => format!("{sign}{minutes}m{seconds}s"),
        _ => format!("{sign}{hours}h{minutes}m{seconds}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_written_as_go_writes_them() {
        for (seconds, words) in
            [(0, "0s"), (59, "59s"), (60, "1m0s"), (-61, "-1m1s"), (14_400, "4h0m0s"), (90_061, "25h1m1s")]
        {
            assert_eq!(duration(seconds), words);
        }
    }
}
