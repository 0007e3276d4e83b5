//! Checks memory. Maps count for the cgroup of the process that creates them. The limit on locked memory has
//! no effect since Linux 5.11.

use super::daemon::DaemonCheck;
use super::findings::size;
use super::{Findings, Subject};
use crate::memory;

const CHECK: &str = "memory";

/// Less memory is too little for the first larger list, because two tables exist while one replaces the
/// other.
const LITTLE: u64 = 64 << 20;

/// Reports how much memory is free, and what limits it.
pub fn check(subject: &Subject, findings: &mut Findings) {
    let (free, whose) = if let DaemonCheck::Answered(status) = &subject.daemon {
        (memory::available_to(Some(status.pid)), "filterd")
    } else {
        (memory::available(), "a filterd started from here")
    };
    judge(free, whose, findings);
}

fn judge(free: Option<memory::Available>, whose: &str, findings: &mut Findings) {
    let Some(free) = free else { return findings.could_not_see("how much memory is free") };
    let size = size(free.bytes);
    match (&free.limit, free.bytes < LITTLE) {
        (None, false) => findings.ok(CHECK, format!("{size} free, and no limit for {whose}")),
        (None, true) => findings.warn(CHECK, format!("only {size} free: larger tables may be refused"), Some("free -m".to_owned())),
        (Some(group), false) => findings.ok(CHECK, format!("{size} free for {whose}, by the limit of {group}")),
        (Some(group), true) => findings.warn(
            CHECK,
            format!("only {size} free for {whose}, by the limit of {group}: maps count towards it, and larger ones may be refused"),
            Some(mend(group)),
        ),
    }
}

/// The command that raises the limit. A service needs another one.
fn mend(group: &str) -> String {
    let unit = group
        .rsplit('/')
        .next()
        .filter(|name| name.ends_with(".service") || name.ends_with(".slice") || name.ends_with(".scope"));
    unit.map_or_else(
        || format!("echo max > /sys/fs/cgroup{group}/memory.max"),
        |unit| format!("systemctl set-property {unit} MemoryMax=infinity"),
    )
}

#[cfg(test)]
mod tests {
    use super::super::Health;
    use super::*;

    #[test]
    fn memory_limit_is_shown_with_raising_command() {
        let told = |bytes, limit: Option<&str>| {
            let mut findings = Findings::default();
            judge(
                Some(memory::Available { bytes, limit: limit.map(str::to_owned) }),
                "filterd",
                &mut findings,
            );
            (findings.all()[0].health, findings.all()[0].remedy.clone().unwrap_or_default())
        };
        assert_eq!(told(8 << 30, None), (Health::Ok, String::new()));
        assert_eq!(told(1 << 20, None).0, Health::Warn);
        assert_eq!(told(1 << 30, Some("/a")).0, Health::Ok);
        let unit = told(1 << 20, Some("/system.slice/filterd.service"));
        assert_eq!(
            unit,
            (Health::Warn, "systemctl set-property filterd.service MemoryMax=infinity".to_owned())
        );
        assert_eq!(told(1 << 20, Some("/box")).1, "echo max > /sys/fs/cgroup/box/memory.max");
    }
}
