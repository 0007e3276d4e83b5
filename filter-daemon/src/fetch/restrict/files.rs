//! Landlock, where the kernel has it: which files are read, and which ports are asked. An older one does of it what it can;
//! what it leaves open, users and system calls close for the most part.

use landlock::{
    ABI, Access, AccessFs, AccessNet, NetPort, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr, RulesetError, Scope,
};

/// What is asked for.
const NEWEST: ABI = ABI::V6;

/// By these the C library turns names into addresses. Nothing else is read.
const READ: [&str; 7] = [
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/nsswitch.conf",
    "/etc/host.conf",
    "/etc/gai.conf",
    "/etc/services",
    "/etc/protocols",
];

/// Lists are at http's and https' ports. A name server is asked over TCP what is too long for a datagram.
const PORTS: [u16; 3] = [80, 443, 53];

/// Nothing is written, and nobody listened to.
pub fn spawner() -> Result<(), RulesetError> {
    Ruleset::default()
        .handle_access(AccessFs::from_write(NEWEST))?
        .handle_access(AccessNet::BindTcp)?
        .scope(Scope::from_all(NEWEST))?
        .create()?
        .restrict_self()?;
    Ok(())
}

/// Names are looked up, and these ports asked, and `port`.
pub fn child(port: u16) -> Result<(), RulesetError> {
    let ruleset = Ruleset::default()
        .handle_access(AccessFs::from_all(NEWEST))?
        .handle_access(AccessNet::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?
        .create()?;
    let ruleset = READ.iter().try_fold(ruleset, |ruleset, path| may_read(ruleset, path))?;
    let ports = PORTS.iter().chain([&port]);
    let ports = ports.map(|port| Ok::<_, RulesetError>(NetPort::new(*port, AccessNet::ConnectTcp)));
    ruleset.add_rules(ports)?.restrict_self()?;
    Ok(())
}

/// What is not there cannot be read either.
fn may_read(ruleset: RulesetCreated, path: &str) -> Result<RulesetCreated, RulesetError> {
    match PathFd::new(path) {
        Ok(file) => ruleset.add_rule(PathBeneath::new(file, AccessFs::ReadFile)),
        Err(_) => Ok(ruleset),
    }
}
