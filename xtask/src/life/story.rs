//! What happens to the package and to the service, in the order in which it may happen to an operator.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::booted::{Booted, until};
use super::flood::Flood;
use super::versions::{JOURNAL_OF_A_NEWER, NEW, OLD};
use super::wire::{LISTED, UNLISTED};
use crate::cost::Cost;
use crate::told::Told;

/// What two commands may take until the first packet is dropped: ten times the goal of ten seconds.
const PATIENCE: Duration = Duration::from_secs(100);

/// Flooded so much at least while something happens, and before and after.
const FLOOD: u64 = 10_000;

const CONFIG: &str = "/etc/filterd/filterd.yaml";

/// How exposed the unit may be, in tenths, by systemd's own count.
const EXPOSURE: u32 = 28;

/// One of them, in a Debian that is booted.
type Chapter = fn(&Booted) -> Result<()>;

/// Each chapter begins with what the one before has left, so the first that fails is the one to read.
pub fn tell(booted: &Booted, told: &mut Told) {
    let chapters: [(&str, Chapter); 20] = [
        ("an installation asks nothing, blocks nobody and starts nothing", installed),
        ("named on an interface and started, it drops", started),
        ("systemctl tells what it does", status),
        ("a reload takes what has changed", reloaded),
        ("an upgrade to another root object lets nothing through", upgraded),
        ("a crash lets nothing through, and it starts again", crashed),
        ("one that hangs is started again, and lets nothing through", hung),
        ("a restart lets nothing through", restarted),
        ("a spent start limit lets nothing through", start_limit),
        ("a boot under attack lets nothing through", attacked),
        ("a downgrade lets nothing through", downgraded),
        ("one to before the journal's format is refused in words, and lets nothing through", refused),
        ("a stop takes the filter and the socket off", stopped),
        ("without an interface, a restart takes the filter off and is skipped", unnamed),
        ("without its state directory it filters nevertheless", stateless),
        ("one that was stopped and disabled stays so through an upgrade", left_stopped),
        ("systemd does not find it more exposed than it was", exposed),
        ("Landlock is there", landlocked),
        ("a removal takes the filter off and keeps the configuration", removed),
        ("a purge leaves what the operator made, and names it", purged),
    ];
    for (name, chapter) in chapters {
        // Chapters follow each other faster than an operator would start it: systemd need not mind.
        _ = booted.output("systemctl reset-failed filterd");
        let (done, cost) = Cost::of(|| chapter(booted));
        told.tell(name, (done, cost));
    }
}

fn install(booted: &Booted, version: &str) -> Result<String> {
    booted.perform(&format!("dpkg --install --force-downgrade /packages/{version}.deb"))
}

fn installed(booted: &Booted) -> Result<()> {
    ensure!(booted.answers(LISTED)?, "the neighbour is not heard to begin with");
    install(booted, OLD)?;
    booted.becomes("systemctl is-enabled filterd", "enabled")?;
    booted.becomes("systemctl is-active filterd || true", "inactive")?;
    is_off(booted)?;
    booted.perform(&format!("grep -qx 'interfaces: \\[\\]' {CONFIG}"))?;
    booted.perform("getent passwd filterd; getent group filterd; filterd check")?;
    Ok(())
}

/// From nothing to the first dropped packet: two commands, of which the first is repeated for the clock.
fn started(booted: &Booted) -> Result<()> {
    booted.perform("dpkg --purge filterd")?;
    let begun = Instant::now();
    install(booted, OLD)?;
    booted.perform(&format!(
        "sed -i 's/^interfaces: .*/interfaces: [eth0]/; s/^block: .*/block: [{LISTED}]/' {CONFIG}; systemctl start filterd"
    ))?;
    until(|| booted.answers(LISTED).ok().filter(|answers| !answers).map(drop))?;
    let took = begun.elapsed();
    println!("from the package to the first dropped packet: {:.1} s", took.as_secs_f32());
    ensure!(took < PATIENCE, "that took {took:?}");
    is_on(booted)
}

fn status(booted: &Booted) -> Result<()> {
    let told = booted.perform("systemctl show --property StatusText,WatchdogUSec,NRestarts filterd")?;
    ensure!(told.contains("StatusText=dropping packets from 1 target on eth0"), "{told}");
    ensure!(!told.contains("WatchdogUSec=0") && told.contains("NRestarts=0"), "{told}");
    Ok(())
}

/// And a configuration that is no good changes nothing, and is told.
fn reloaded(booted: &Booted) -> Result<()> {
    let before = pid(booted)?;
    let block =
        |what: &str| format!("sed -i 's/^block: .*/block: [{what}]/' {CONFIG}; systemctl reload filterd");
    booted.perform(&block(&format!("{LISTED}, {UNLISTED}")))?;
    ensure!(!booted.answers(UNLISTED)?, "what the reload brought is heard");
    booted.perform(&block(LISTED))?;
    is_on(booted)?;
    let told = booted.output(&block("no address"))?;
    ensure!(!told.status.success(), "systemctl says that a broken configuration was taken");
    is_on(booted)?;
    booted.perform("journalctl --unit filterd --no-pager | grep -q 'no address'")?;
    booted.perform(&block(LISTED))?;
    ensure!(pid(booted)? == before, "a reload has started it anew");
    is_on(booted)
}

fn upgraded(booted: &Booted) -> Result<()> {
    let before = pid(booted)?;
    without_a_gap(booted, || {
        install(booted, NEW)?;
        is_started_anew(booted, &before)
    })?;
    booted.perform(
        "journalctl --unit filterd --no-pager | grep -q 'another version was replaced without a gap'",
    )?;
    booted.becomes("dpkg-query --show --showformat '${Version}' filterd", NEW)
}

fn crashed(booted: &Booted) -> Result<()> {
    let before = pid(booted)?;
    without_a_gap(booted, || {
        booted.perform("systemctl kill --signal KILL --kill-who main filterd")?;
        is_started_anew(booted, &before)
    })
}

/// The watchdog's patience is shortened by a drop-in for this.
fn hung(booted: &Booted) -> Result<()> {
    drop_in(booted, "[Service]\\nWatchdogSec=2s\\nTimeoutAbortSec=1s\\n")?;
    booted.perform("systemctl restart filterd")?;
    let before = pid(booted)?;
    without_a_gap(booted, || {
        booted.perform("systemctl kill --signal STOP --kill-who main filterd")?;
        is_started_anew(booted, &before)
    })?;
    booted.perform("journalctl --unit filterd --no-pager | grep -qi 'watchdog timeout'")?;
    no_drop_in(booted)?;
    booted.perform("systemctl restart filterd").map(drop)
}

fn restarted(booted: &Booted) -> Result<()> {
    let before = pid(booted)?;
    without_a_gap(booted, || {
        booted.perform("systemctl restart filterd")?;
        is_started_anew(booted, &before)
    })
}

/// Killed as often as it starts, until systemd has had enough.
fn start_limit(booted: &Booted) -> Result<()> {
    without_a_gap(booted, || {
        until(|| {
            // It may have ended meanwhile: then there is nobody to kill.
            _ = booted.output("systemctl kill --signal KILL --kill-who main filterd");
            let said = booted.perform("systemctl is-active filterd || true").ok()?;
            (said.trim() == "failed").then_some(())
        })
    })?;
    booted.perform("systemctl reset-failed filterd; systemctl start filterd")?;
    is_on(booted)
}

/// The network comes up as it does elsewhere, after `network-pre.target`, and packets have been waiting for it.
fn attacked(booted: &Booted) -> Result<()> {
    let network = "[Unit]\\nDefaultDependencies=no\\nWants=network-pre.target\\nAfter=network-pre.target\\nBefore=network.target\\n\
                   [Service]\\nType=oneshot\\nExecStart=ip link set eth0 up\\n[Install]\\nWantedBy=multi-user.target\\n";
    booted.perform(&format!(
        "printf '{network}' > /etc/systemd/system/story-network.service; systemctl enable story-network"
    ))?;
    let (listed, unlisted) = (booted.passed(LISTED)?, booted.passed(UNLISTED)?);
    booted.lose_power()?;
    let flood = Flood::begin(booted.neighbour());
    booted.boot_again()?;
    booted.becomes("systemctl is-active filterd || true", "active")?;
    // It meets the filter that the boot has brought for a while.
    until(|| (booted.passed(UNLISTED).ok()? > unlisted + FLOOD / 100).then_some(()))?;
    flood.end()?;
    let passed = booted.passed(LISTED)? - listed;
    println!("of a boot's flood {passed} packets of the listed source passed");
    ensure!(passed == 0, "{passed} packets of a listed source passed");
    booted.perform("systemctl disable story-network; rm /etc/systemd/system/story-network.service")?;
    is_on(booted)
}

fn downgraded(booted: &Booted) -> Result<()> {
    let before = pid(booted)?;
    without_a_gap(booted, || {
        install(booted, OLD)?;
        is_started_anew(booted, &before)
    })?;
    booted.becomes("dpkg-query --show --showformat '${Version}' filterd", OLD)
}

/// What the newer one has written is put in its place; so the way out is not to start that one, but the other that is told.
fn refused(booted: &Booted) -> Result<()> {
    let state = "/var/lib/filterd";
    install(booted, NEW)?;
    booted.perform(&format!(
        "install --owner filterd --group filterd --mode 600 {JOURNAL_OF_A_NEWER} {state}/live.redb"
    ))?;
    without_a_gap(booted, || {
        let told = install(booted, OLD)?;
        ensure!(told.contains("its filter is still attached"), "apt's user is told nothing: {told}");
        booted.becomes("systemctl is-active filterd || true", "failed")
    })?;
    for words in
        ["live.redb has format 1000, but this filterd knows only", "or move this file and live.redb.old away"]
    {
        booted.perform(&format!("journalctl --unit filterd --no-pager | grep -q '{words}'"))?;
    }
    // Whether there was a copy depends on how long the one before ran.
    booted.perform(&format!(
        "cd {state}; mv live.redb /root; test ! -e live.redb.old || mv live.redb.old /root"
    ))?;
    booted.perform("systemctl reset-failed filterd; systemctl start filterd")?;
    is_on(booted)
}

fn stopped(booted: &Booted) -> Result<()> {
    booted.perform("systemctl stop filterd; test ! -e /run/filterd/control.sock")?;
    is_off(booted)?;
    booted.perform("systemctl start filterd")?;
    is_on(booted)
}

fn unnamed(booted: &Booted) -> Result<()> {
    booted.perform(&format!(
        "sed -i 's/^interfaces: .*/interfaces: []/' {CONFIG}; systemctl restart filterd"
    ))?;
    booted.becomes("systemctl is-active filterd || true", "inactive")?;
    is_off(booted)?;
    booted.perform("test ! -e /run/filterd/control.sock")?;
    booted.perform(&format!(
        "sed -i 's/^interfaces: .*/interfaces: [eth0]/' {CONFIG}; systemctl start filterd"
    ))?;
    is_on(booted)
}

fn stateless(booted: &Booted) -> Result<()> {
    booted.perform("systemctl stop filterd; rm -r /var/lib/filterd; systemctl start filterd")?;
    is_on(booted)?;
    booted.perform("systemd-tmpfiles --create filterd.conf; systemctl restart filterd")?;
    is_on(booted)
}

/// Whoever stopped it does not want it back because apt brought another version.
fn left_stopped(booted: &Booted) -> Result<()> {
    booted.perform("systemctl stop filterd; systemctl disable filterd")?;
    install(booted, NEW)?;
    booted.becomes("systemctl is-active filterd || true", "inactive")?;
    booted.becomes("systemctl is-enabled filterd || true", "disabled")?;
    booted.perform("systemctl enable filterd; systemctl start filterd")?;
    is_on(booted)
}

fn exposed(booted: &Booted) -> Result<()> {
    let unit = "/usr/lib/systemd/system/filterd.service";
    let line = format!("systemd-analyze security --no-pager --offline=true --threshold={EXPOSURE} {unit}");
    let told = booted.perform(&format!("{line} | grep Overall; {line} > /dev/null"))?;
    println!("{}", told.trim());
    Ok(())
}

/// Only where nspawn is told to let the calls through: its own filter knows none of them.
fn landlocked(booted: &Booted) -> Result<()> {
    booted
        .perform("journalctl --unit filterd --no-pager | grep -q 'without capabilities; Landlock [1-9]'")
        .map(drop)
}

fn removed(booted: &Booted) -> Result<()> {
    booted.perform("echo 192.0.2.1 > /etc/filterd/lists/own.txt; dpkg --remove filterd")?;
    is_off(booted)?;
    booted.perform(&format!("test -e {CONFIG}; test ! -e /usr/bin/filterd; test -d /var/lib/filterd"))?;
    booted.perform("test ! -e /run/filterd/control.sock").map(drop)
}

fn purged(booted: &Booted) -> Result<()> {
    let told = booted.perform("dpkg --purge filterd")?;
    ensure!(told.contains("/etc/filterd/lists/own.txt"), "what stays is not named: {told}");
    booted.perform("test -e /etc/filterd/lists/own.txt; test ! -e /etc/filterd/filterd.yaml")?;
    booted.perform("test ! -e /var/lib/filterd; test ! -e /run/filterd; test ! -e /sys/fs/bpf/filterd")?;
    booted.perform("getent passwd filterd; getent group filterd")?;
    booted.perform("rm /etc/filterd/lists/own.txt")?;
    install(booted, OLD)?;
    booted.perform("dpkg --purge filterd; test ! -e /etc/filterd; systemctl daemon-reload")?;
    ensure!(booted.output("systemctl cat filterd")?.status.code() != Some(0), "a unit is left");
    is_off(booted)
}

/// This happens under a flood that begins before it and ends after it.
fn without_a_gap(booted: &Booted, happens: impl FnOnce() -> Result<()>) -> Result<()> {
    let (listed, unlisted) = (booted.passed(LISTED)?, booted.passed(UNLISTED)?);
    let flood = Flood::begin(booted.neighbour());
    let flooded = |until_so_many: u64| until(|| (flood.sent() >= until_so_many).then_some(()));
    flooded(FLOOD)?;
    happens()?;
    flooded(flood.sent() + FLOOD)?;
    let sent = flood.sent();
    flood.end()?;
    let passed = booted.passed(LISTED)? - listed;
    let others = booted.passed(UNLISTED)? - unlisted;
    println!("of {sent} packets of a listed source {passed} passed, of another one {others}");
    ensure!(passed == 0, "{passed} of {sent} packets of a listed source passed");
    ensure!(others > 0, "nothing came through at all: then the first number says nothing");
    filters(booted)
}

fn is_on(booted: &Booted) -> Result<()> {
    filters(booted)?;
    booted.becomes("systemctl is-active filterd || true", "active")
}

/// Whether a daemon runs or not.
fn filters(booted: &Booted) -> Result<()> {
    ensure!(!booted.answers(LISTED)?, "the listed source is heard");
    ensure!(booted.answers(UNLISTED)?, "the other source is not heard");
    Ok(())
}

/// And nothing of it is left in the kernel.
fn is_off(booted: &Booted) -> Result<()> {
    ensure!(booted.answers(LISTED)?, "the listed source is not heard");
    let told = booted.perform("ip -details link show eth0; ls /sys/fs/bpf")?;
    ensure!(!told.contains("xdp") && !told.contains("filterd"), "something is left: {told}");
    Ok(())
}

fn pid(booted: &Booted) -> Result<String> {
    Ok(booted.perform("systemctl show --property MainPID --value filterd")?.trim().to_owned())
}

fn is_started_anew(booted: &Booted, before: &str) -> Result<()> {
    until(|| pid(booted).ok().filter(|now| now != before && now != "0").map(drop))?;
    booted.becomes("systemctl is-active filterd || true", "active")
}

fn drop_in(booted: &Booted, text: &str) -> Result<()> {
    let directory = "/run/systemd/system/filterd.service.d";
    let line =
        format!("mkdir -p {directory}; printf '{text}' > {directory}/story.conf; systemctl daemon-reload");
    booted.perform(&line).map(drop)
}

fn no_drop_in(booted: &Booted) -> Result<()> {
    booted.perform("rm -r /run/systemd/system/filterd.service.d; systemctl daemon-reload").map(drop)
}
