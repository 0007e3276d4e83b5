//! The wire to the one that boots, a neighbour at its other end, and who counts what comes in. It lies there before anybody boots,
//! and stays when its power fails.

use std::path::PathBuf;
use std::process::{self as this, Command};

use anyhow::Result;
use bpf_build::process;

/// In it, and beside it.
pub const ITS_ADDRESS: &str = "10.77.0.1";
pub const LISTED: &str = "10.77.0.2";
pub const UNLISTED: &str = "10.77.0.3";

/// Two namespaces and the wire between them; they go with this.
pub struct Wire {
    /// Of the one that boots.
    pub own: String,
    pub neighbour: String,
    nft: PathBuf,
}

impl Wire {
    /// With its end down: whoever boots decides when he is on the network.
    pub fn lay(nft: PathBuf) -> Result<Self> {
        let name = |what: &str| format!("filterd-life-{}-{what}", this::id());
        let wire = Self { own: name("own"), neighbour: name("peer"), nft };
        let (own, peer) = (&wire.own, &wire.neighbour);
        ip(&format!("netns add {own}"))?;
        ip(&format!("netns add {peer}"))?;
        ip(&format!("-n {peer} link add eth1 type veth peer name eth0 netns {own}"))?;
        for address in [LISTED, UNLISTED] {
            ip(&format!("-n {peer} address add {address}/24 dev eth1"))?;
        }
        ip(&format!("-n {peer} link set eth1 up"))?;
        ip(&format!("-n {own} address add {ITS_ADDRESS}/24 dev eth0"))?;
        let rules = format!(
            "table netdev seen {{\nchain ingress {{\ntype filter hook ingress device \"eth0\" priority -500;\n\
             ip saddr {LISTED} counter\nip saddr {UNLISTED} counter\n}}\n}}\n"
        );
        process::run_quietly(&mut wire.nft(&rules))?;
        Ok(wire)
    }

    pub fn unplug(&self) -> Result<()> {
        ip(&format!("-n {} link set eth0 down", self.own))
    }

    /// About to do this at its end.
    pub fn nft(&self, words: &str) -> Command {
        let mut nft = Command::new("nsenter");
        nft.arg(format!("--net=/run/netns/{}", self.own)).arg(&self.nft).arg(words);
        nft
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        for namespace in [&self.own, &self.neighbour] {
            _ = ip(&format!("netns del {namespace}"));
        }
    }
}

fn ip(words: &str) -> Result<()> {
    process::run_quietly(Command::new("ip").args(words.split(' ')))
}
