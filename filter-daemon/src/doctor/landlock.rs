//! Landlock, by which the daemon and whoever fetches lists are held to their own places. filterd works without.

use std::thread;

use landlock::{ABI, AccessFs, LandlockStatus, Ruleset, RulesetAttr, RulesetError};

use super::Findings;

const CHECK: &str = "landlock";

/// Says whether the kernel has it.
pub fn check(findings: &mut Findings) {
    // The kernel tells whoever is held to it; so a thread is, which has nothing else to do.
    let tried = thread::spawn(version).join();
    match tried {
        Ok(Ok(Some(version))) => {
            findings.ok(CHECK, format!("version {version}: the daemon can write only to its own places"))
        }
        _ => findings.warn(
            CHECK,
            "none: only its user limits where the daemon may write",
            Some("boot with `lsm=landlock,…` before what `cat /sys/kernel/security/lsm` shows".to_owned()),
        ),
    }
}

fn version() -> Result<Option<u32>, RulesetError> {
    let tried = Ruleset::default().handle_access(AccessFs::from_write(ABI::V6))?.create()?.restrict_self()?;
    Ok(match tried.landlock {
        LandlockStatus::Available { effective_abi, .. } => Some(effective_abi as u32),
        LandlockStatus::NotEnabled | LandlockStatus::NotImplemented => None,
    })
}
