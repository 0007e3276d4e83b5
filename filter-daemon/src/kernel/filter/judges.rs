//! Records which judge packets meet, and which other judges the broker has loaded or is loading. Sends no
//! requests.

use crate::kernel::spec::JudgeSpec;

/// The judges of a filter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "each filter has one, which soon leaves the small variant")]
pub enum JudgeState {
    /// No packet meets this filter yet. Its first judge is loaded and published at once.
    #[default]
    Unpublished,
    /// Packets meet `judge`. The broker keeps a judge that is ready and loads another one in the background,
    /// so every combination of the other two occurs.
    Published {
        judge: JudgeSpec,
        /// The judge that is loaded for the next publication.
        ready: Option<JudgeSpec>,
        loading: JudgeLoading,
    },
}

/// The judge that is being loaded in the background. The broker loads one at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JudgeLoading {
    Nothing,
    /// A judge for the plan, which is postponed until it is loaded, or for other settings.
    Plan(JudgeSpec),
    /// The first judge requested for larger tables, which come into use together with it, and how many were
    /// filled then.
    Tables(JudgeSpec, usize),
}

impl JudgeState {
    /// The judge that packets meet.
    pub const fn published(&self) -> Option<&JudgeSpec> {
        match self {
            Self::Unpublished => None,
            Self::Published { judge, .. } => Some(judge),
        }
    }

    /// True if packets meet this judge, or if it is ready.
    pub fn has(&self, spec: &JudgeSpec) -> bool {
        match self {
            Self::Unpublished => false,
            Self::Published { judge, ready, .. } => judge == spec || ready.as_ref() == Some(spec),
        }
    }

    /// The judge that the plan or other settings wait for.
    pub const fn awaited(&self) -> Option<&JudgeSpec> {
        match self {
            Self::Published { loading: JudgeLoading::Plan(spec), .. } => Some(spec),
            Self::Unpublished | Self::Published { .. } => None,
        }
    }

    /// The judge that larger tables wait for, and how many were filled when it was requested.
    pub const fn for_tables(&self) -> Option<(&JudgeSpec, usize)> {
        match self {
            Self::Published { loading: JudgeLoading::Tables(spec, filled), .. } => Some((spec, *filled)),
            Self::Unpublished | Self::Published { .. } => None,
        }
    }

    /// Records that the broker has loaded this judge for the next publication.
    pub fn set_ready(&mut self, spec: JudgeSpec) {
        if let Self::Published { ready, .. } = self {
            *ready = Some(spec);
        }
    }

    /// Records what the broker loads in the background.
    pub fn set_loading(&mut self, next: JudgeLoading) {
        if let Self::Published { loading, .. } = self {
            *loading = next;
        }
    }

    /// Records that packets meet this judge, and that nothing is planned any more.
    pub fn publish(&mut self, spec: JudgeSpec) {
        self.discard();
        match self {
            Self::Published { judge, .. } => *judge = spec,
            Self::Unpublished => {
                *self = Self::Published { judge: spec, ready: None, loading: JudgeLoading::Nothing }
            }
        }
    }

    /// Records that nothing is planned any more. Larger tables in the making belong to no plan, so they still
    /// wait for their judge.
    pub fn discard(&mut self) {
        if let Self::Published { ready, loading, .. } = self {
            *ready = None;
            if matches!(loading, JudgeLoading::Plan(_)) {
                *loading = JudgeLoading::Nothing;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::JudgeLoading::{Nothing, Plan, Tables};
    use super::*;
    use crate::blocklist::Settings;
    use filter_common::sets::{PerSet, SLOTS};

    /// Judges that differ in this number.
    fn spec(samples: u64) -> JudgeSpec {
        JudgeSpec {
            settings: Settings::default(),
            sets: PerSet::default(),
            clauses: [None; SLOTS],
            overlap: None,
            lists: None,
            samples,
        }
    }

    /// A state by name, with judge 1 published unless it is `first`.
    fn state(name: &str) -> JudgeState {
        let loading = match name.trim_end_matches('+') {
            "first" => return JudgeState::Unpublished,
            "plan" => Plan(spec(3)),
            "tables" => Tables(spec(4), 1),
            _ => Nothing,
        };
        JudgeState::Published { judge: spec(1), ready: name.ends_with('+').then(|| spec(2)), loading }
    }

    /// A `+` stands for a judge that is ready.
    #[test]
    fn each_event_leads_to_one_state() {
        let events: [fn(&mut JudgeState); 6] = [
            |state| state.set_ready(spec(2)),
            |state| state.set_loading(Plan(spec(3))),
            |state| state.set_loading(Tables(spec(4), 1)),
            |state| state.set_loading(Nothing),
            |state| state.publish(spec(1)),
            JudgeState::discard,
        ];
        let table = [
            // Before, and after: ready, plan, tables, nothing, publish, discard.
            ("first", ["first", "first", "first", "first", "none", "first"]),
            ("none", ["none+", "plan", "tables", "none", "none", "none"]),
            ("none+", ["none+", "plan+", "tables+", "none+", "none", "none"]),
            ("plan", ["plan+", "plan", "tables", "none", "none", "none"]),
            ("plan+", ["plan+", "plan+", "tables+", "none+", "none", "none"]),
            ("tables", ["tables+", "plan", "tables", "none", "tables", "tables"]),
            ("tables+", ["tables+", "plan+", "tables+", "none+", "tables", "tables"]),
        ];
        for (before, after) in table {
            for (number, (event, after)) in events.iter().zip(after).enumerate() {
                let mut now = state(before);
                event(&mut now);
                assert_eq!(now, state(after), "event {number} in {before}");
            }
        }
    }
}
