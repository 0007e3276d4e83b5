//! Checks whether the kernel compiles BPF programs. An interpreter takes several times as long for each
//! packet.

use super::{Findings, Subject};
use crate::kernel::probe;

const CHECK: &str = "jit";

const ON: &str = "sysctl -w net.core.bpf_jit_enable=1";

/// Reports whether programs are compiled, and what slows them down. The settings are visible only in the
/// first network namespace.
pub fn check(subject: &Subject, findings: &mut Findings) {
    let set = |name: &str| subject.text(&format!("proc/sys/net/core/bpf_jit_{name}"));
    judge(set("enable").as_deref(), set("harden").as_deref(), probe::is_compiled, findings);
}

fn judge(
    enable: Option<&str>,
    harden: Option<&str>,
    is_compiled: impl Fn() -> Option<bool>,
    findings: &mut Findings,
) {
    match (enable, harden) {
        (Some("0"), _) => {
            findings.warn(
                CHECK,
                "off: the kernel interprets programs, which is several times slower",
                Some(ON.to_owned()),
            );
        }
        (Some("2"), _) => {
            findings.warn(CHECK, "on, and writes each program to the kernel's log", Some(ON.to_owned()));
        }
        (Some(_), Some("2")) => findings.warn(
            CHECK,
            "on, but hardened for root's programs too, which costs time for each packet",
            Some("sysctl -w net.core.bpf_jit_harden=1".to_owned()),
        ),
        (Some(_), _) => findings.ok(CHECK, "on"),
        (None, _) => match is_compiled() {
            Some(true) => findings.ok(CHECK, "on: programs in the kernel are compiled"),
            Some(false) => {
                findings.warn(
                    CHECK,
                    "off: programs in the kernel are interpreted",
                    Some(format!("{ON} (outside of this network namespace)")),
                );
            }
            None => findings.warn(
                CHECK,
                "not visible in this network namespace",
                Some("sysctl net.core.bpf_jit_enable (outside of it; it should be 1)".to_owned()),
            ),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::super::Health;
    use super::*;

    #[test]
    fn jit_state_comes_from_setting_and_programs() {
        let told = |enable, harden, is_compiled: Option<bool>| {
            let mut findings = Findings::default();
            judge(enable, harden, || is_compiled, &mut findings);
            (findings.all()[0].health, findings.all()[0].remedy.clone().unwrap_or_default())
        };
        assert_eq!(told(Some("1"), Some("0"), None), (Health::Ok, String::new()));
        assert_eq!(told(Some("0"), Some("0"), None), (Health::Warn, ON.to_owned()));
        assert_eq!(told(Some("2"), Some("0"), None), (Health::Warn, ON.to_owned()));
        let (health, remedy) = told(Some("1"), Some("2"), None);
        assert_eq!((health, remedy.as_str()), (Health::Warn, "sysctl -w net.core.bpf_jit_harden=1"));
        assert_eq!(told(None, None, Some(true)).0, Health::Ok);
        assert_eq!(told(None, None, Some(false)).0, Health::Warn);
        assert_eq!(told(None, None, None).0, Health::Warn);
    }
}
