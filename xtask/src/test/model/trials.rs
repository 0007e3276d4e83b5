//! Which models and mutants there are, and what must be found of each.

/// A model, with what is defined for it.
pub struct Trial {
    pub model: &'static str,
    pub defines: &'static [&'static str],
    pub expected: Outcome,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// No packet is ever told anything wrong.
    Holds,
    /// Some packet is.
    Breaks,
}

const fn holds(model: &'static str, defines: &'static [&'static str]) -> Trial {
    Trial { model, defines, expected: Outcome::Holds }
}

const fn breaks(model: &'static str, defines: &'static [&'static str]) -> Trial {
    Trial { model, defines, expected: Outcome::Breaks }
}

/// Each mutant leaves out one thing that the protocol does, and shows that the model would notice. Where loads are in
/// order the stash is looked into last, so that the first grace period could indeed be left out: that mutant needs
/// memory without order. The same goes for the grace period between what is allowed and what is blocked, and for the one
/// before a reload's last settings: a judge must be guessed to be there too early. Of IPv6 from the top the model tells that
/// within one prefix any order is right.
pub const TRIALS: [Trial; 76] = [
    holds("batch", &["REQUESTS=1"]),
    holds("batch", &["REQUESTS=2", "LOADS_IN_ORDER"]),
    holds("forward", &[]),
    breaks("batch", &["WITHOUT_THE_FIRST_GRACE_PERIOD", "REQUESTS=0"]),
    breaks("batch", &["WITHOUT_THE_SECOND_GRACE_PERIOD", "REQUESTS=0"]),
    breaks("batch", &["WITHOUT_THE_SECOND_GRACE_PERIOD", "REQUESTS=0", "LOADS_IN_ORDER"]),
    breaks("batch", &["NOBODY_IS_COPIED", "REQUESTS=0"]),
    breaks("batch", &["NEWCOMER_IN_A_PLANNED_WORD", "REQUESTS=1", "LOADS_IN_ORDER"]),
    breaks("batch", &["REMOVAL_FORGETS_THE_PLAN", "REQUESTS=1", "LOADS_IN_ORDER"]),
    breaks("batch", &["REMOVAL_FORGETS_THE_STASH", "REQUESTS=1", "LOADS_IN_ORDER"]),
    breaks("batch", &["REMOVAL_FORGETS_THE_BATCH", "REQUESTS=2", "LOADS_IN_ORDER"]),
    breaks("batch", &["PUBLISHED_BEFORE_IT_IS_FILLED", "REQUESTS=0"]),
    breaks("batch", &["FREED_WITHOUT_A_GRACE_PERIOD", "REQUESTS=0"]),
    breaks("forward", &["LOADS_IN_ANY_ORDER"]),
    breaks("forward", &["STORES_IN_ANY_ORDER"]),
    breaks("forward", &["ENTRIES_MOVE_BACK"]),
    breaks("forward", &["ERASED_BEFORE_IT_IS_COPIED"]),
    holds("reload", &[]),
    holds("reload", &["LOADS_IN_ORDER"]),
    holds("reload", &["SIX", "SLOT_IN_ANY_ORDER"]),
    holds("reload", &["SIX", "LOADS_IN_ORDER"]),
    holds("reload", &["SIX", "LOADS_IN_ORDER", "RELOADS=2"]),
    holds("reload", &["SIX", "LOADS_IN_ORDER", "RELEASED_AT_ONCE"]),
    holds("reload", &["GRACELESS"]),
    holds("reload", &["SIX", "GRACELESS"]),
    breaks("reload", &["NO_GRACE_AFTER_LOOSENING", "SIX", "LOADS_IN_ORDER"]),
    breaks("reload", &["NO_GRACE_AFTER_ALLOWING", "SIX"]),
    breaks("reload", &["NO_GRACE_AFTER_ADDITIONS", "LOADS_IN_ORDER"]),
    breaks("reload", &["NO_GRACE_AFTER_ADDITIONS", "SIX", "LOADS_IN_ORDER"]),
    breaks("reload", &["NO_GRACE_AFTER_PUBLISHING", "LOADS_IN_ORDER"]),
    breaks("reload", &["NO_GRACE_AFTER_REMOVALS", "SIX", "LOADS_IN_ORDER"]),
    breaks("reload", &["LOOSENING_FORGOTTEN_AT_THE_END", "SIX", "LOADS_IN_ORDER"]),
    breaks("reload", &["NO_GRACE_IN_A_ROLLBACK", "SIX", "LOADS_IN_ORDER"]),
    breaks("reload", &["ROLLBACK_LEAVES_WHAT_CAME", "SIX", "LOADS_IN_ORDER"]),
    breaks("reload", &["NO_GRACE_BEFORE_ENFORCING", "SIX", "SLOT_IN_ANY_ORDER"]),
    breaks("reload", &["GRACES_FORGOTTEN_BETWEEN_RELOADS", "SIX", "LOADS_IN_ORDER", "RELOADS=2"]),
    breaks("reload", &["REMOVALS_FIRST", "LOADS_IN_ORDER"]),
    breaks("reload", &["REMOVALS_FIRST", "SIX", "LOADS_IN_ORDER"]),
    breaks("reload", &["COUNTED_LAST", "SIX", "LOADS_IN_ORDER"]),
    breaks("reload", &["ENFORCED_FIRST", "SIX", "LOADS_IN_ORDER"]),
    breaks("reload", &["ALLOW_ADDED_LAST", "LOADS_IN_ORDER"]),
    breaks("reload", &["ALLOW_REMOVED_FIRST", "SIX", "LOADS_IN_ORDER"]),
    breaks("reload", &["ALLOW_ASKED_LAST", "SIX", "LOADS_IN_ORDER"]),
    breaks("reload", &["ALLOW_SWITCHED_OFF_FIRST", "SIX", "LOADS_IN_ORDER"]),
    breaks("reload", &["SWITCHED_ON_LAST", "LOADS_IN_ORDER"]),
    breaks("reload", &["SWITCHED_OFF_FIRST", "LOADS_IN_ORDER"]),
    breaks("reload", &["FRESH_TABLE_IS_EMPTY", "SIX", "LOADS_IN_ORDER"]),
    breaks("reload", &["SUMMARY_FORGETS_NEIGHBOURS", "LOADS_IN_ORDER"]),
    breaks("reload", &["SETTINGS_BACK_FIRST", "SIX", "LOADS_IN_ORDER"]),
    breaks("reload", &["PUBLISHED_BEFORE_IT_IS_FILLED", "GRACELESS"]),
    breaks("reload", &["SETTINGS_PUBLISHED_APART", "GRACELESS"]),
    holds("levels", &["WIDE", "REQUESTS=3"]),
    holds("levels", &["DEEP", "REQUESTS=3"]),
    holds("levels", &["CLASSED", "REQUESTS=3"]),
    holds("levels", &["CLASSED_DEEPER", "REQUESTS=3"]),
    holds("levels", &["BESIDES", "REQUESTS=3"]),
    holds("levels", &["ELSEWHERE", "REQUESTS=3"]),
    holds("levels", &["WIDE", "REQUESTS=2", "KILLED"]),
    holds("levels", &["CLASSED", "REQUESTS=2", "KILLED"]),
    holds("levels", &["CLASSED", "REQUESTS=3", "BIT_BEFORE_TABLE", "TABLE_BEFORE_BIT"]),
    breaks("levels", &["NO_GRACE_BEFORE_REMOVALS", "WIDE", "REQUESTS=2", "LOADS_IN_ORDER"]),
    breaks("levels", &["NO_GRACE_BEFORE_REMOVALS", "DEEP", "REQUESTS=2", "LOADS_IN_ORDER"]),
    breaks("levels", &["NUMBERS_ARE_USED_AGAIN", "ELSEWHERE", "REQUESTS=3", "LOADS_IN_ORDER"]),
    breaks("levels", &["A_NODE_COMES_LATE", "DEEP", "REQUESTS=1", "LOADS_IN_ORDER"]),
    breaks("levels", &["A_NEW_NODE_FORGETS_THE_WHOLE", "DEEP", "REQUESTS=1", "LOADS_IN_ORDER"]),
    breaks("levels", &["SHORT_ONES_ARE_NEVER_IN_THE_TABLE", "DEEP", "REQUESTS=1", "LOADS_IN_ORDER"]),
    breaks("levels", &["LENGTHS_ARE_NOT_NAMED", "BESIDES", "REQUESTS=1", "LOADS_IN_ORDER"]),
    breaks("levels", &["NESTED_ONES_ARE_FORGOTTEN", "WIDE", "REQUESTS=1", "LOADS_IN_ORDER"]),
    breaks("levels", &["NESTED_ONES_ARE_FORGOTTEN", "BESIDES", "REQUESTS=1", "LOADS_IN_ORDER"]),
    breaks("levels", &["NEIGHBOURS_ARE_FORGOTTEN", "BESIDES", "REQUESTS=1", "LOADS_IN_ORDER"]),
    breaks("levels", &["THE_WHOLE_IS_TIDIED_AWAY", "DEEP", "REQUESTS=1", "LOADS_IN_ORDER"]),
    breaks("levels", &["CLASSES_KNOW_THE_NEWCOMER_ONLY", "CLASSED", "REQUESTS=1", "LOADS_IN_ORDER"]),
    breaks("levels", &["THE_LATEST_CLASS_COUNTS", "CLASSED", "REQUESTS=1", "LOADS_IN_ORDER"]),
    breaks("levels", &["STORED_BEFORE_IT_IS_FILLED", "CLASSED", "REQUESTS=1", "LOADS_IN_ORDER"]),
    breaks("levels", &["PUBLISHED_BEFORE_IT_IS_FILLED", "WIDE", "KILLED", "REQUESTS=1", "LOADS_IN_ORDER"]),
    breaks("levels", &["FREED_WITHOUT_A_GRACE_PERIOD", "WIDE", "KILLED", "REQUESTS=1", "LOADS_IN_ORDER"]),
];

impl Trial {
    /// As it is chosen and told.
    pub fn name(&self) -> String {
        let defines: Vec<_> = self.defines.iter().map(|define| define.to_lowercase()).collect();
        [&[self.model.to_owned()], &defines[..]].concat().join("::")
    }
}
