//! `filterd doctor`: what stands in the way of filterd on this machine. Needs no daemon; one that runs is asked.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};
use serde::Serialize;

use super::ask::left_at_work;
use super::ask::trouble::Trouble;
use super::render::console::Console;
use super::render::figure::counted;
use crate::cli::{interface_name, places};
use crate::control::client::{Client, ClientError, Endpoint};
use crate::control::{pins_note, wire};
use crate::doctor::{self, Asked, Finding, Health, Subject};
use crate::exit::Exit;
use crate::text::{Explain, printable};

#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 nothing fails; 7 something does: filterd would not start, or would not filter an interface.

Examples:
  sudo filterd doctor
  sudo filterd doctor --iface eth0
  filterd doctor --json | jq '.findings[] | select(.health != \"ok\")'")]
pub struct Doctor {
    /// Look at this interface, beside those of the configuration; may be given several times
    #[arg(short, long = "iface", value_name = "IF", value_parser = interface_name)]
    interfaces: Vec<String>,
    /// Read this configuration [default: that of the filterd that runs, else /etc/filterd/filterd.yaml, if it is there]
    #[arg(short, long, value_name = "FILE", conflicts_with = "no_config")]
    config: Option<PathBuf>,
    /// Read no configuration
    #[arg(long)]
    no_config: bool,
    /// Where filterd keeps what must survive [default: where the filterd that runs has it, else /var/lib/filterd]
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,
    /// Where its pins are [default: where the filterd that runs has them, or has left them, else /sys/fs/bpf/filterd]
    #[arg(long, value_name = "DIR", value_parser = OsStringValueParser::new().try_map(places::pins))]
    pin_dir: Option<PathBuf>,
}

/// What programs read.
#[derive(Debug, Serialize)]
struct Examined<'a> {
    /// How many are as they should be,
    ok: usize,
    /// should be known,
    warn: usize,
    /// do not work.
    fail: usize,
    findings: &'a [Finding],
}

impl Doctor {
    pub fn execute(&self, endpoint: &Endpoint, console: &mut Console) -> Result<Exit, Trouble> {
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
        let examined = Examined {
            ok: count(Health::Ok),
            warn: count(Health::Warn),
            fail: count(Health::Fail),
            findings: findings.all(),
        };
        console.answer(&examined, render)?;
        Ok(if examined.fail == 0 { Exit::Done } else { Exit::Partly })
    }

    /// That which the daemon reads, or which `run` would read.
    fn configuration(&self, daemon: &Asked) -> Option<PathBuf> {
        let running = || daemon.answer()?.config.as_ref().map(PathBuf::from);
        let named = || self.config.clone().or_else(running).unwrap_or_else(|| places::CONFIG.into());
        (!self.no_config).then(named)
    }

    /// That which the daemon has, or `run` would.
    fn state(&self, daemon: &Asked) -> PathBuf {
        let running = || daemon.answer()?.state_dir.as_ref().map(PathBuf::from);
        self.state_dir.clone().or_else(running).unwrap_or_else(|| places::STATE.into())
    }

    /// Where whoever is at this socket has pins, or has left them.
    fn pins(&self, endpoint: &Endpoint) -> PathBuf {
        let noted = || pins_note::read(&endpoint.socket).ok().flatten();
        self.pin_dir.clone().or_else(noted).unwrap_or_else(|| places::PINS.into())
    }
}

fn ask(endpoint: &Endpoint) -> Asked {
    let answered = Client::connect(endpoint).and_then(|mut client| client.call(&wire::Status {}));
    match answered {
        Ok(status) => Asked::Answered(Box::new(status)),
        Err(ClientError::NotRunning(socket)) => {
            left_at_work::told(&socket).map_or(Asked::Nobody, Asked::Left)
        }
        Err(ClientError::NotPermitted(_)) => Asked::NotPermitted,
        Err(error) => Asked::Silent(error.explain()),
    }
}

/// A line each, with what mends it below; what it comes to stands last, where the eye is.
fn render(examined: &Examined) -> String {
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

fn summary(examined: &Examined) -> String {
    match (examined.fail, examined.warn) {
        (0, 0) => "all is well".to_owned(),
        (0, warn) => format!("nothing fails; {} marked warn", counted(warn as u64, "thing")),
        (fail, _) => format!("{} marked FAIL", counted(fail as u64, "thing")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_mends_it_stands_below_what_was_found() {
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
        let told = render(&Examined { ok: 1, warn: 0, fail: 1, findings: &findings });
        let wanted = "\
ok    jit       on
FAIL  xdp eth0  taken
                -> bpftool link detach id 7

1 thing marked FAIL
";
        assert_eq!(told, wanted);
    }
}
