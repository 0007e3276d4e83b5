//! Landlock rules, where the kernel has Landlock: which files can be read, and which ports asked. An older
//! kernel applies the rules that it knows. User IDs and seccomp cover most of the rest.

use landlock::{
    ABI, Access, AccessFs, AccessNet, LandlockStatus, NetPort, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, Scope,
};

/// The newest version whose rules are requested.
const NEWEST: ABI = ABI::V6;

/// The files from which the C library resolves names. Nothing else is readable.
const READ: [&str; 7] = [
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/nsswitch.conf",
    "/etc/host.conf",
    "/etc/gai.conf",
    "/etc/services",
    "/etc/protocols",
];

/// The ports of HTTP and HTTPS, and of name servers, which answer over TCP if a datagram is too short.
const PORTS: [u16; 3] = [80, 443, 53];

/// The first version of Landlock with rules for ports.
const WITH_PORTS: u32 = ABI::V4 as u32;

/// Forbids writing files and listening. Returns whether the kernel can restrict ports.
pub fn spawner() -> Result<bool, RulesetError> {
    let restricted = Ruleset::default()
        .handle_access(AccessFs::from_write(NEWEST))?
        .handle_access(AccessNet::BindTcp)?
        .scope(Scope::from_all(NEWEST))?
        .create()?
        .restrict_self()?;
    Ok(match restricted.landlock {
        LandlockStatus::Available { effective_abi, .. } => effective_abi as u32 >= WITH_PORTS,
        LandlockStatus::NotEnabled | LandlockStatus::NotImplemented => false,
    })
}

/// Permits name resolution, and connections to these ports and to `port`.
pub fn child(port: u16) -> Result<(), RulesetError> {
    let ruleset = Ruleset::default()
        .handle_access(AccessFs::from_all(NEWEST))?
        .handle_access(AccessNet::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?
        .create()?;
    let ruleset = READ.iter().try_fold(ruleset, |ruleset, path| allow_reading(ruleset, path))?;
    let ports = PORTS.iter().chain([&port]);
    let ports = ports.map(|port| Ok::<_, RulesetError>(NetPort::new(*port, AccessNet::ConnectTcp)));
    ruleset.add_rules(ports)?.restrict_self()?;
    Ok(())
}

/// A missing file needs no rule.
fn allow_reading(ruleset: RulesetCreated, path: &str) -> Result<RulesetCreated, RulesetError> {
    match PathFd::new(path) {
        Ok(file) => ruleset.add_rule(PathBeneath::new(file, AccessFs::ReadFile)),
        Err(_) => Ok(ruleset),
    }
}
