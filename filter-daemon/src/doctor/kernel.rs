//! Checks whether the kernel is new enough and has the features that filterd needs.

use std::io::ErrorKind;

use nix::libc::ENOSYS;

use super::Findings;
use crate::kernel::probe::{self, Feature};
use crate::kernel::version;
use crate::text::Explain;

const CHECK: &str = "kernel";

/// The remedy if the kernel was built without needed features.
const REBUILD: &str = "boot a distribution's own kernel, or one built with CONFIG_BPF_SYSCALL, CONFIG_BPF_JIT and CONFIG_NET_CLS_BPF";

/// Reports the kernel's version and missing features.
pub fn check(findings: &mut Findings) {
    let found = version::found();
    judge(&found, &probe::features(), findings);
}

fn judge(release: &str, features: &[Feature], findings: &mut Findings) {
    if let Err(error) = version::must_do(release) {
        findings.fail(CHECK, error.to_string(), error.remedy().or(Some(newer())));
        return;
    }
    let refused = features.iter().filter_map(|feature| feature.is_there.as_ref().err());
    if refused.clone().any(|error| error.raw_os_error() == Some(ENOSYS)) {
        let told = format!("Linux {release} was built without the bpf system call");
        return findings.fail(CHECK, told, Some(REBUILD.to_owned()));
    }
    let missing = named(features, |feature| matches!(feature.is_there, Ok(false)));
    if !missing.is_empty() {
        let told = format!("Linux {release} lacks {}", missing.join(", "));
        return findings.fail(CHECK, told, Some(REBUILD.to_owned()));
    }
    if refused.clone().any(|error| error.kind() == ErrorKind::PermissionDenied) {
        findings.ok(CHECK, format!("Linux {release}, new enough ({} or newer)", version::OLDEST));
        return findings.could_not_see("what the kernel was built with");
    }
    match refused.clone().next() {
        Some(error) => {
            let told = format!("cannot read the features of Linux {release}: {error}");
            findings.warn(CHECK, told, Some("dmesg | tail".to_owned()));
        }
        None => findings
            .ok(CHECK, format!("Linux {release} has all {} features that filterd uses", features.len())),
    }
}

fn newer() -> String {
    format!(
        "install Linux {} or newer (Debian 12, Ubuntu 24.04, RHEL 10 and later have one)",
        version::OLDEST
    )
}

fn named(features: &[Feature], is_meant: impl Fn(&Feature) -> bool) -> Vec<&'static str> {
    features.iter().filter(|feature| is_meant(feature)).map(|feature| feature.name).collect()
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::super::Health;
    use super::*;

    fn told(release: &str, is_there: [io::Result<bool>; 2]) -> (Health, String) {
        let [first, second] = is_there;
        let features = [
            Feature { name: "XDP programs", is_there: first },
            Feature { name: "tail calls", is_there: second },
        ];
        let mut findings = Findings::default();
        judge(release, &features, &mut findings);
        let first = &findings.all()[0];
        (first.health, first.message.clone())
    }

    #[test]
    fn kernel_is_judged_by_its_features() {
        let refuses = |number| Err(io::Error::from_raw_os_error(number));
        assert_eq!(told("6.1.0-49", [Ok(true), Ok(true)]).0, Health::Ok);
        assert_eq!(told("5.10.0", [Ok(true), Ok(true)]).0, Health::Fail);
        let (health, message) = told("6.12", [Ok(true), Ok(false)]);
        assert!(health == Health::Fail && message.ends_with("lacks tail calls"), "{message}");
        let (health, message) = told("6.12", [refuses(ENOSYS), Ok(true)]);
        assert!(health == Health::Fail && message.contains("without the bpf system call"), "{message}");
        assert_eq!(told("6.12", [refuses(nix::libc::EPERM), refuses(nix::libc::EPERM)]).0, Health::Ok);
        assert_eq!(told("6.12", [refuses(nix::libc::ENOMEM), Ok(true)]).0, Health::Warn);
    }
}
