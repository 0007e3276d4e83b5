//! Checks that the kernel is not older than the oldest one that filterd supports.

use super::KernelError;

/// The oldest tested kernel. The kernel features in use need only 5.18 (`xdp.frags`).
pub const OLDEST: &str = "6.1";

/// Refuses a running kernel older than [`OLDEST`].
pub fn check() -> Result<(), KernelError> {
    must_do(&found())
}

/// The release of the running kernel, as `uname -r` prints it.
pub fn found() -> String {
    std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned()
}

/// Refuses a release older than [`OLDEST`].
pub fn must_do(found: &str) -> Result<(), KernelError> {
    if is_older(found, OLDEST) { Err(KernelError::TooOld { found: found.to_owned() }) } else { Ok(()) }
}

/// A release that cannot be parsed counts as new: if the kernel lacks a feature, the loader reports it.
fn is_older(release: &str, than: &str) -> bool {
    matches!((numbers(release), numbers(than)), (Some(release), Some(than)) if release < than)
}

/// The first two numbers of a release: `6.1.0-49-cloud-amd64` is 6.1.
pub fn numbers(release: &str) -> Option<(u32, u32)> {
    let mut parts = release.split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_compared_by_number() {
        assert!(is_older("5.18.0-1-amd64", "6.1"));
        assert!(is_older("6.0.19", "6.1"));
        assert!(!is_older("6.1.0-49-cloud-amd64", "6.1"));
        assert!(!is_older("6.18.44-fc-v669", "6.1"));
        assert!(!is_older("10.2", "6.1"));
        assert!(!is_older("mainline", "6.1"));
    }
}
