//! Landlock for the broker, where the kernel has it: it writes nothing but pins, runs nothing, and calls nobody.
//!
//! Landlock does not govern the opening of pins (BPF_OBJ_GET): for that the kernel asks the mode of a pin alone.

use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetError, Scope,
};

/// What is asked for. An older kernel does of it what it can.
const NEWEST: ABI = ABI::V6;

/// Lets this thread write only where pins are, and make their directory anew where somebody removes it.
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
