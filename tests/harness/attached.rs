//! What is attached to an interface, and taking it off as another root may.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use aya::programs::{SchedClassifier, TcAttachType};
use serde_json::{Value, json};

use crate::Namespace;
use crate::limited::LimitedCommand;

/// The name of filterd's root program for TC.
const ROOT: &str = "filterd_tc_root";

impl Namespace {
    /// The XDP program on an interface, as `ip -json link` tells of it, or else filterd's program behind the driver. None if
    /// there is neither. Equal values mean that nobody has touched the interface.
    pub fn attached(&self, interface: &str) -> Option<Value> {
        self.xdp(interface).or_else(|| self.tcx(interface)).or_else(|| self.clsact(interface))
    }

    /// The XDP program on an interface.
    pub fn xdp(&self, interface: &str) -> Option<Value> {
        let links = self.ip(&format!("-json -details link show {interface}"));
        let links: Value = serde_json::from_str(&links).expect("ip speaks JSON");
        links[0].get("xdp").cloned()
    }

    fn tcx(&self, interface: &str) -> Option<Value> {
        let asked = self.inside(|| SchedClassifier::query_tcx(interface, TcAttachType::Ingress));
        let (revision, programs) = asked.ok()?;
        let ours = programs.iter().find(|program| program.name_as_str() == Some(ROOT))?;
        Some(json!({"mode": "tcx", "revision": revision, "prog": {"id": ours.id(), "name": ROOT}}))
    }

    fn clsact(&self, interface: &str) -> Option<Value> {
        let mut tc = self.command("tc");
        let told =
            tc.args(["filter", "show", "dev", interface, "ingress"]).limited_output().expect("tc is there");
        let told = String::from_utf8_lossy(&told.stdout).into_owned();
        let ours = told.lines().find(|line| line.contains(&format!(" name {ROOT} ")))?;
        let id: u64 = ours.split(" id ").nth(1)?.split(' ').next()?.parse().ok()?;
        let handle = ours.split(" handle ").nth(1)?.split(' ').next()?;
        Some(json!({"mode": "clsact", "handle": handle, "prog": {"id": id, "name": ROOT}}))
    }

    /// Detaches what is pinned there from an interface. A filter of `clsact` goes with the whole qdisc.
    #[track_caller]
    pub fn take_off(&self, interface: &str, pin: &Path) {
        let mut command = if fs::symlink_metadata(pin).expect("it is pinned").is_symlink() {
            let mut tc = self.command("tc");
            tc.args(["qdisc", "del", "dev", interface, "clsact"]);
            tc
        } else {
            let mut bpftool = self.command("bpftool");
            bpftool.args(["link", "detach", "pinned"]).arg(pin);
            bpftool
        };
        let done = command.stdout(Stdio::null()).limited_status();
        assert!(done.expect("it is there").success());
    }
}
