//! Checks which capabilities a filterd started from here would have.

use nix::unistd::geteuid;
use rustix::thread::{CapabilitySet, capabilities};

use super::{Findings, Subject};

const CHECK: &str = "capabilities";

/// The capabilities that the broker needs, with their usual names.
const NEEDED: [(CapabilitySet, &str); 3] = [
    (CapabilitySet::BPF, "CAP_BPF"),
    (CapabilitySet::NET_ADMIN, "CAP_NET_ADMIN"),
    (CapabilitySet::PERFMON, "CAP_PERFMON"),
];

/// The first user namespace maps all users to themselves.
const WHOLE: [&str; 3] = ["0", "0", "4294967295"];

/// Reports the missing capabilities.
pub fn check(subject: &Subject, findings: &mut Findings) {
    let effective = capabilities(None).map_or(CapabilitySet::empty(), |sets| sets.effective);
    let users = subject.text("proc/self/uid_map").unwrap_or_default();
    judge(effective, geteuid().is_root(), &users, findings);
}

fn judge(effective: CapabilitySet, is_root: bool, users: &str, findings: &mut Findings) {
    let has = |wanted: CapabilitySet| {
        // Before Linux 5.8 there was only CAP_SYS_ADMIN, which still includes the other two.
        let stands_for =
            if wanted == CapabilitySet::NET_ADMIN { wanted } else { wanted | CapabilitySet::SYS_ADMIN };
        effective.intersects(stands_for)
    };
    let missing: Vec<_> = NEEDED.iter().filter(|(wanted, _)| !has(*wanted)).map(|(_, name)| *name).collect();
    if !users.split_whitespace().eq(WHOLE) && is_root {
        let told = "root only of a user namespace, in which the kernel accepts no XDP programs";
        return findings.fail(
            CHECK,
            told,
            Some("run filterd outside of it (containers: not rootless, no userns-remap)".to_owned()),
        );
    }
    if missing.is_empty() {
        return findings.ok(CHECK, "CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON are present");
    }
    if !is_root {
        findings.warn(
            CHECK,
            format!("you lack {}, which filterd needs at its start", missing.join(", ")),
            Some("sudo filterd run".to_owned()),
        );
        return;
    }
    let words: Vec<_> =
        missing.iter().map(|name| format!("--cap-add {}", name.trim_start_matches("CAP_"))).collect();
    findings.fail(
        CHECK,
        format!("root lacks {}", missing.join(", ")),
        Some(format!(
            "a container: `docker run {}`; a service: AmbientCapabilities= and CapabilityBoundingSet=",
            words.join(" ")
        )),
    );
}

#[cfg(test)]
mod tests {
    use super::super::Health;
    use super::*;

    const ALL: CapabilitySet =
        CapabilitySet::BPF.union(CapabilitySet::NET_ADMIN).union(CapabilitySet::PERFMON);

    fn told(effective: CapabilitySet, is_root: bool, users: &str) -> (Health, String) {
        let mut findings = Findings::default();
        judge(effective, is_root, users, &mut findings);
        let first = &findings.all()[0];
        (first.health, format!("{} / {}", first.message, first.remedy.clone().unwrap_or_default()))
    }

    #[test]
    fn missing_capabilities_are_named() {
        let first = "         0          0 4294967295";
        assert_eq!(told(ALL, true, first).0, Health::Ok);
        let (health, told_of) = told(CapabilitySet::NET_ADMIN, true, first);
        assert!(health == Health::Fail && told_of.contains("--cap-add BPF --cap-add PERFMON"), "{told_of}");
        let old = CapabilitySet::NET_ADMIN | CapabilitySet::SYS_ADMIN;
        assert_eq!(told(old, true, first).0, Health::Ok);
        assert_eq!(told(CapabilitySet::SYS_ADMIN, true, first).0, Health::Fail);
        assert_eq!(told(CapabilitySet::empty(), false, first).0, Health::Warn);
        assert_eq!(told(ALL, true, "0 100000 65536").0, Health::Fail);
    }
}
