//! Checks Landlock, which confines the daemon and the process that fetches lists. filterd works without it.

use std::thread;

use landlock::{ABI, AccessFs, LandlockStatus, Ruleset, RulesetAttr, RulesetError};

use super::Findings;

const CHECK: &str = "landlock";

/// Reports whether the kernel has Landlock.
pub fn check(findings: &mut Findings) {
    // The kernel reports the version only to a thread that becomes confined, so a separate thread does that.
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
