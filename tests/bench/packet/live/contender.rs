//! Whoever guards a host, each with the same list, and each set up the way its own manual says.

use std::fmt;
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use aya::Ebpf;
use aya::EbpfLoader;
use aya::programs::Xdp;
use aya::programs::xdp::XdpMode;
use harness::{ForeignIngress, Net};

use crate::lists;
use crate::rivals;
use crate::subject::Stage;

/// Who guards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contender {
    /// The host takes whatever comes.
    Nobody,
    /// A program in the driver that looks at nothing.
    DropAll,
    /// A program of TC that looks at nothing.
    DropAllTc,
    /// filterd as shipped, the daemon running, with two lists.
    Filterd,
    /// The same while drops are told in full: to `metrics.sources`, as to whoever watches.
    FilterdWatched,
    /// The same as the first, which does not count for each list.
    FilterdTotal,
    /// The same as the first where the driver has no XDP.
    FilterdTc,
    /// A program in the driver that asks a BPF hash map.
    Hash,
    /// Debian's program, in the driver; its limit of 10,000 is raised.
    XdpFilter,
    /// A set of nftables, where frames enter the network stack.
    NftIngress,
    /// The same, where packets enter the IP layer.
    NftPrerouting,
    /// iptables' first table with a set of ipset.
    Ipset,
}

/// All of them; the first is what is subtracted from the others.
pub const CONTENDERS: [Contender; 12] = [
    Contender::Nobody,
    Contender::DropAll,
    Contender::DropAllTc,
    Contender::Filterd,
    Contender::FilterdWatched,
    Contender::FilterdTotal,
    Contender::FilterdTc,
    Contender::Hash,
    Contender::XdpFilter,
    Contender::NftIngress,
    Contender::NftPrerouting,
    Contender::Ipset,
];

/// A host with its guard.
pub struct Guarded {
    pub by: Contender,
    pub net: Net,
    // A program is attached as long as its object is there.
    _program: Option<Attached>,
}

/// What is gone when it is dropped.
enum Attached {
    Xdp(#[allow(dead_code, reason = "it is held")] Ebpf),
    Tc(#[allow(dead_code, reason = "it is held")] ForeignIngress),
}

impl Contender {
    /// Sets up a host that it guards against so many of the crowd.
    pub fn guard(self, stage: &Stage<'_>, entries: u32) -> Result<Guarded> {
        let mut net = wire()?;
        let sized =
            |program, map, entries| stage.load(program, EbpfLoader::new().map_max_entries(map, entries));
        let program = match self {
            Self::Nobody => None,
            Self::DropAllTc => Some(Attached::Tc(ForeignIngress::drop_all(net.host()))),
            Self::DropAll => Some(attached(&net, sized("bench_drop", "HASH", 1)?, "bench_drop")?),
            Self::Hash => Some(attached(&net, rivals::hash(stage, entries + 1)?, "bench_hash")?),
            Self::XdpFilter => Some(attached(&net, rivals::xdp_filter(entries + 1)?, rivals::XDP_FILTER)?),
            Self::Filterd => filterd(&mut net, entries, "mode: native"),
            Self::FilterdWatched => {
                filterd(&mut net, entries, "mode: native\nmetrics: {listen: 127.0.0.1:9477, sources: true}")
            }
            Self::FilterdTotal => filterd(&mut net, entries, "mode: native\ncounters: total"),
            Self::FilterdTc => filterd(&mut net, entries, "mode: tc"),
            Self::NftIngress => nft(&net, &lists::nft("netdev", "ingress device eth0 priority 0", entries))?,
            Self::NftPrerouting => nft(&net, &lists::nft("ip", "prerouting priority raw", entries))?,
            Self::Ipset => {
                run(net.host().command("ipset").arg("restore"), &lists::ipset(entries))?;
                let rule = "--table raw --append PREROUTING --match set --match-set crowd src --jump DROP";
                run(net.host().command("iptables").args(rule.split(' ')), "")?;
                None
            }
        };
        Ok(Guarded { by: self, net, _program: program })
    }
}

impl Guarded {
    /// How many packets the host's IP layer has found no way for: all that passed.
    pub fn arrived(&self) -> u64 {
        let read = || fs::read_to_string("/proc/thread-self/net/snmp").expect("a thread has a network");
        let text = self.net.host().inside(read);
        let mut rows = text.lines().filter_map(|line| line.strip_prefix("Ip: "));
        let (names, values) = (rows.next().unwrap_or_default(), rows.next().unwrap_or_default());
        let found = names.split(' ').zip(values.split(' ')).find(|(name, _)| *name == "InAddrErrors");
        found.and_then(|(_, value)| value.parse().ok()).expect("the kernel counts packets")
    }
}

/// A host and a peer, and a wire for live frames: the kernel sends them only to an end that polls for them, which this
/// makes it do.
pub fn wire() -> Result<Net> {
    let net = Net::new();
    for end in [net.host(), net.peer()] {
        run(end.command("ethtool").args(["-K", "eth0", "gro", "on"]), "")?;
    }
    Ok(net)
}

/// With every other one of the crowd on one list, and the rest on another.
fn filterd(net: &mut Net, entries: u32, settings: &str) -> Option<Attached> {
    let lines = lists::lines(entries);
    let list = |(first, name): (usize, &str)| {
        let lines: Vec<_> = lines.lines().skip(first).step_by(2).collect();
        net.file(&format!("{name}.txt"), &(lines.join("\n") + "\n"));
        format!("{{name: {name}, path: $HOME/{name}.txt, include_special: true}}")
    };
    let lists = [(0, "one"), (1, "other")].map(list).join(", ");
    net.start(&format!("{settings}\nlists: [{lists}]"));
    None
}

/// In the driver, not in the stack behind it.
fn attached(net: &Net, mut object: Ebpf, name: &str) -> Result<Attached> {
    let program: &mut Xdp = object.program_mut(name).context("it is loaded")?.try_into()?;
    net.host().inside(|| program.attach("eth0", XdpMode::Driver)).context("cannot attach")?;
    Ok(Attached::Xdp(object))
}

fn nft(net: &Net, ruleset: &str) -> Result<Option<Attached>> {
    run(net.host().command("nft").args(["--file", "-"]), ruleset)?;
    Ok(None)
}

fn run(command: &mut Command, input: &str) -> Result<()> {
    let mut child =
        command.stdin(Stdio::piped()).spawn().with_context(|| format!("cannot start {command:?}"))?;
    child.stdin.take().context("it has a standard input")?.write_all(input.as_bytes())?;
    ensure!(child.wait()?.success(), "{command:?} failed");
    Ok(())
}

impl fmt::Display for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nobody => "no filter",
            Self::DropAll => "a program that drops all",
            Self::DropAllTc => "the same in TC",
            Self::Filterd => "filterd, native",
            Self::FilterdWatched => "filterd, native, watched",
            Self::FilterdTotal => "filterd, native, `counters: total`",
            Self::FilterdTc => "filterd, TC",
            Self::Hash => "BPF hash map",
            Self::XdpFilter => "xdp-filter",
            Self::NftIngress => "nftables, netdev ingress",
            Self::NftPrerouting => "nftables, prerouting",
            Self::Ipset => "iptables and ipset",
        })
    }
}
