//! CAP_PERFMON, without which the verifier refuses what filterd needs: how it is to be without.

use std::panic::resume_unwind;
use std::thread;

use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

/// Does something on a thread that may load programs, but not such as read memory at offsets that vary.
pub fn without_perfmon<T: Send>(act: impl FnOnce() -> T + Send) -> T {
    let lesser = || {
        let mut sets = capabilities(None).expect("one may ask for one's own capabilities");
        sets.effective &= CapabilitySet::BPF | CapabilitySet::NET_ADMIN;
        set_capabilities(None, sets).expect("one may always have less");
        act()
    };
    thread::scope(|scope| scope.spawn(lesser).join().unwrap_or_else(|panic| resume_unwind(panic)))
}
