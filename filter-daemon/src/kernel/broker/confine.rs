//! Confines the broker by Landlock, if the kernel has it. The broker may write only pins, run no program, and
//! open no connection.
//!
//! Landlock does not restrict the opening of pins (BPF_OBJ_GET): for that the kernel checks only the mode of
//! a pin.

use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetError, Scope,
};

/// The requested version. An older kernel applies the part that it supports.
const NEWEST: ABI = ABI::V6;

/// Restricts writing by this thread to the parent of the pin directory, so that it can recreate a removed
/// directory.
pub fn to_pins(directory: &Path) -> Result<(), RulesetError> {
    let parent = directory.parent().unwrap_or(directory);
    let ruleset = Ruleset::default()
        .handle_access(AccessFs::from_write(NEWEST) | AccessFs::Execute)?
        .handle_access(AccessNet::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?
        .create()?;
    let places = [parent].into_iter().filter_map(|place| PathFd::new(place).ok());
    let rules =
        places.map(|place| Ok::<_, RulesetError>(PathBeneath::new(place, AccessFs::from_write(NEWEST))));
    ruleset.add_rules(rules)?.restrict_self()?;
    Ok(())
}
