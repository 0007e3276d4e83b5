//! A real Prometheus, which asks a filterd each second, with the alerts that come with it.

use crate::limited::LimitedChild;
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use serde_json::Value;

use crate::{Net, SOON};

/// Where it answers itself, in the host.
const AT: &str = "127.0.0.1:9090";

/// Gone when dropped.
#[derive(Debug)]
pub struct Prometheus(Child);

impl Prometheus {
    /// The alerts that come with filterd.
    pub fn rules() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../configs/prometheus/filterd.rules.yml")
    }

    /// In the host, beside the filterd that is to be looked at here.
    pub fn watching(net: &Net, address: &str) -> Self {
        let config = format!(
            "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\nrule_files: [{}]\n\
             scrape_configs: [{{job_name: filterd, static_configs: [{{targets: [\"{address}\"]}}]}}]\n",
            Self::rules().display()
        );
        let config = net.home().write("prometheus.yml", &config);
        let mut prometheus = net.host().command("prometheus");
        prometheus.arg(format!("--config.file={}", config.display()));
        prometheus.arg(format!("--storage.tsdb.path={}", net.home().path("tsdb").display()));
        prometheus.args([&format!("--web.listen-address={AT}"), "--log.level=error"]);
        Self(prometheus.stdout(Stdio::null()).spawn().expect("prometheus can be run"))
    }

    /// The first value that it has for this question, if it has any.
    pub fn tells(&self, net: &Net, question: &str) -> Option<f64> {
        let answer = get(net, &format!("/api/v1/query?query={}", quoted(question)))?;
        answer["data"]["result"][0]["value"][1].as_str()?.parse().ok()
    }

    /// Its alerts: name, whether it could be evaluated (`ok`), and how it stands (`inactive`, `pending`, `firing`).
    pub fn alerts(&self, net: &Net) -> Vec<[String; 3]> {
        let answer = get(net, "/api/v1/rules").unwrap_or_default();
        let groups = answer["data"]["groups"].as_array().into_iter().flatten();
        let rules = groups.flat_map(|group| group["rules"].as_array().into_iter().flatten());
        let word = |rule: &Value, name: &str| rule[name].as_str().unwrap_or_default().to_owned();
        rules.map(|rule| ["name", "health", "state"].map(|name| word(rule, name))).collect()
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.limited_wait();
    }
}

/// Nothing as long as it does not answer.
fn get(net: &Net, path: &str) -> Option<Value> {
    net.host().inside(|| {
        let mut stream = TcpStream::connect(AT).ok()?;
        stream.set_read_timeout(Some(SOON)).ok()?;
        stream.write_all(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes()).ok()?;
        let mut all = String::new();
        stream.read_to_string(&mut all).ok()?;
        serde_json::from_str(all.split_once("\r\n\r\n")?.1).ok()
    })
}

/// As it stands in an address.
fn quoted(question: &str) -> String {
    question.bytes().fold(String::new(), |mut quoted, byte| {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' => quoted.push(byte.into()),
            _ => write!(quoted, "%{byte:02X}").expect("it is text"),
        }
        quoted
    })
}
