//! The machines that README's reader may have.

use std::env;
use std::fmt;

use anyhow::{Result, ensure};

/// Chooses one of them.
const RELEASE: &str = "FILTERD_RELEASE";

/// A fresh Debian, and what its owner did first.
#[derive(Debug, PartialEq, Eq)]
pub struct Machine {
    pub name: &'static str,
    pub release: &'static str,
    /// Packages that came from the release's backports: there they are newer than what else the release brings, and stand
    /// in the way of it.
    pub foreign: &'static [&'static str],
}

const MACHINES: [Machine; 3] = [
    Machine { name: "bookworm", release: "bookworm", foreign: &[] },
    Machine { name: "trixie", release: "trixie", foreign: &[] },
    Machine { name: "bookworm-backports", release: "bookworm", foreign: &["qemu-utils"] },
];

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Debian {}, fresh", self.release)?;
        self.foreign.iter().try_for_each(|package| write!(f, ", with {package} of its backports"))
    }
}

/// All, or the one that was chosen.
pub fn chosen() -> Result<Vec<&'static Machine>> {
    named(env::var(RELEASE).ok().as_deref())
}

fn named(name: Option<&str>) -> Result<Vec<&'static Machine>> {
    let names = MACHINES.map(|machine| machine.name).join(", ");
    let is_meant = |machine: &&Machine| name.is_none_or(|name| machine.name == name);
    let machines: Vec<_> = MACHINES.iter().filter(is_meant).collect();
    ensure!(!machines.is_empty(), "{RELEASE} names no machine\n       try one of {names}");
    Ok(machines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_or_all_machines_can_be_chosen() {
        assert_eq!(named(None).unwrap().len(), MACHINES.len());
        assert_eq!(named(Some("trixie")).unwrap(), [&MACHINES[1]]);
        let error = named(Some("sid")).unwrap_err().to_string();
        assert!(error.contains("bookworm, trixie, bookworm-backports"), "{error}");
    }
}
