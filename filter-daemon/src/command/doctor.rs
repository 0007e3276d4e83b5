//! `filterd doctor`: finds out what keeps filterd from working on this machine. It needs no daemon, but
//! asks a running one.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};
use serde::Serialize;

use super::ask::left_at_work;
use super::ask::trouble::CommandError;
use super::render::console::Console;
use super::render::figure::{count, counted};
use crate::cli::{interface_name, places};
use crate::control::client::{Client, ClientError, Endpoint};
use crate::control::{pins_note, wire};
use crate::doctor::{self, DaemonCheck, Finding, Health, Subject};
use crate::exit::Exit;
use crate::text::{Explain, printable};

#[derive(Debug, Args)]
pub struct Doctor {
    /// Examine this interface, too. Repeatable [default: those of the configuration]
    #[arg(short, long = "iface", value_name = "IF", value_parser = interface_name)]
    interfaces: Vec<String>,
    /// Configuration to examine [default: that of the running filterd, else /etc/filterd/filterd.yaml if it exists]
    #[arg(short, long, value_name = "FILE", conflicts_with = "no_config")]
    config: Option<PathBuf>,
    /// Examine no configuration
    #[arg(long)]
    no_config: bool,
    /// State directory [default: that of the running filterd, else /var/lib/filterd]
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,
    /// Directory of pins [default: that of the running or the last filterd, else /sys/fs/bpf/filterd]
    #[arg(long, value_name = "DIR", value_parser = OsStringValueParser::new().try_map(places::pins))]
    pin_dir: Option<PathBuf>,
}

/// The findings as JSON.
#[derive(Debug, Serialize)]
struct DoctorOutput<'a> {
    /// The number of findings without a problem.
    ok: usize,
    /// The number of findings that the operator should know.
    warn: usize,
    /// The number of findings that keep filterd from working.
    fail: usize,
    findings: &'a [Finding],
}

impl Doctor {
    pub fn execute(&self, endpoint: &Endpoint, console: &mut Console) -> Result<Exit, CommandError> {
        let daemon = ask(endpoint);
        let findings = doctor::examine(&Subject {
            interfaces: self.interfaces.clone(),
            config: self.configuration(&daemon),
            is_config_named: self.config.is_some(),
            socket: endpoint.socket.clone(),
            state_dir: self.state(&daemon),
            pin_dir: self.pins(endpoint),
            daemon,
            root: "/".into(),
        });
        let count = |health| findings.count(health);
        let examined = DoctorOutput {
            ok: count(Health::Ok),
            warn: count(Health::Warn),
            fail: count(Health::Fail),
            findings: findings.all(),
        };
        console.answer(&examined, render)?;
        Ok(if examined.fail == 0 { Exit::Done } else { Exit::Partly })
    }

    /// The configuration that the daemon reads, or that `run` would read.
    fn configuration(&self, daemon: &DaemonCheck) -> Option<PathBuf> {
        let running = || daemon.answer()?.config.as_ref().map(PathBuf::from);
        let named = || self.config.clone().or_else(running).unwrap_or_else(|| places::CONFIG.into());
        (!self.no_config).then(named)
    }

    /// The state directory that the daemon uses, or that `run` would use.
    fn state(&self, daemon: &DaemonCheck) -> PathBuf {
        let running = || daemon.answer()?.state_dir.as_ref().map(PathBuf::from);
        self.state_dir.clone().or_else(running).unwrap_or_else(|| places::STATE.into())
    }

    /// The directory with the pins of the daemon at this socket, or with those that it left.
    fn pins(&self, endpoint: &Endpoint) -> PathBuf {
        let noted = || pins_note::read(&endpoint.socket).ok().flatten();
        self.pin_dir.clone().or_else(noted).unwrap_or_else(|| places::PINS.into())
    }
}

fn ask(endpoint: &Endpoint) -> DaemonCheck {
    let answered = Client::connect(endpoint).and_then(|mut client| client.call(&wire::Status {}));
    match answered {
        Ok(status) => DaemonCheck::Answered(Box::new(status)),
        Err(ClientError::NotRunning(socket)) => {
            left_at_work::told(&socket).map_or(DaemonCheck::Nobody, DaemonCheck::Left)
        }
        Err(ClientError::NotPermitted(_)) => DaemonCheck::NotPermitted,
        Err(error) => DaemonCheck::Silent(error.explain()),
    }
}

/// Formats one line for each finding, with its remedy below. The summary comes last, where the user looks
/// first.
fn render(examined: &DoctorOutput) -> String {
    let width =
        examined.findings.iter().map(|finding| about(finding).chars().count()).max().unwrap_or_default();
    let mut text: String = examined.findings.iter().map(|finding| told(finding, width)).collect();
    text.push_str(&format!("\n{}\n", summary(examined)));
    text
}

fn told(finding: &Finding, width: usize) -> String {
    let word = match finding.health {
        Health::Ok => "ok",
        Health::Warn => "warn",
        Health::Fail => "FAIL",
    };
    let below = " ".repeat(width + 8);
    let about = about(finding);
    let mut lines = finding.message.lines();
    let mut text = format!("{word:<4}  {about:<width$}  {}\n", lines.next().unwrap_or_default());
    lines.for_each(|line| text.push_str(&format!("{below}{line}\n")));
    let mut arrow = "-> ";
    for line in finding.remedy.iter().flat_map(|remedy| remedy.lines()) {
        text.push_str(&format!("{below}{arrow}{line}\n"));
        arrow = "   ";
    }
    text
}

fn about(finding: &Finding) -> String {
    let check = finding.check;
    finding
        .interface
        .as_deref()
        .map_or_else(|| check.to_owned(), |name| format!("{check} {}", printable::on_one_line(name)))
}

fn summary(examined: &DoctorOutput) -> String {
    match (examined.fail, examined.warn) {
        (0, 0) => "all is well".to_owned(),
        (fail, warn) => format!("{} failed, {}", count(fail as u64), counted(warn as u64, "warning")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remedies_follow_their_findings() {
        let finding = |check, interface: Option<&str>, health, message: &str, remedy: Option<&str>| Finding {
            check,
            interface: interface.map(str::to_owned),
            health,
            message: message.to_owned(),
            remedy: remedy.map(str::to_owned),
        };
        let findings = [
            finding("jit", None, Health::Ok, "on", None),
            finding("xdp", Some("eth0"), Health::Fail, "taken", Some("bpftool link detach id 7")),
        ];
        let told = render(&DoctorOutput { ok: 1, warn: 0, fail: 1, findings: &findings });
        let wanted = "\
ok    jit       on
FAIL  xdp eth0  taken
                -> bpftool link detach id 7

1 failed, 0 warnings
";
        assert_eq!(told, wanted);
    }
}
