//! How long monitoring waits for all series of a million entries on almost a thousand lists, and whether anybody waits for it.

use std::io::{Read, Write};
use std::net::TcpStream;

use anyhow::{Result, ensure};
use filterd_measure::figures::Figures;
use filterd_measure::tables::{Table, grouped};
use harness::{Home, Net};

use super::timed;
use super::waits::{self, Wait};
use crate::lists;

/// Almost as many as there may be: whoever adds meanwhile has one more.
const LISTS: u32 = 990;

const ENTRIES: u32 = 990_000;

/// Scrapes of which the middle one counts.
const TIMES: usize = 101;

const ADDRESS: &str = "127.0.0.1:9477";

/// What came out.
#[derive(Debug)]
pub struct Scrape {
    pub milliseconds: Figures,
    /// Bytes of one answer.
    pub bytes: usize,
    /// Of those who add meanwhile.
    pub wait: Wait,
}

/// Measures it.
pub fn measure() -> Result<Scrape> {
    let mut net = Net::new();
    let each = ENTRIES / LISTS;
    let list = |number: u32| {
        let addresses = number * each..(number + 1) * each;
        let text: String = addresses.map(|at| format!("{}\n", lists::address(at))).collect();
        net.file(&format!("list-{number}.txt"), &text);
        format!("- {{name: list-{number}, path: $HOME/list-{number}.txt, include_special: true}}\n")
    };
    let lists: String = (0..LISTS).map(list).collect();
    net.start(&format!("mode: native\ndurable: false\nmetrics: {{listen: {ADDRESS}}}\nlists:\n{lists}"));
    let host = net.host();
    let scrape = || host.inside(ask);
    let mut took = Vec::new();
    let mut bytes = 0;
    for _ in 0..TIMES {
        let (answered, time) = timed(scrape);
        bytes = answered?;
        took.push(time.as_secs_f64() * 1e3);
    }
    let many = |home: &Home| {
        (0..TIMES).for_each(|_| drop(scrape()));
        home.filterd(["ping"])
    };
    let (wait, _) = waits::beside(&net, "monitoring asks without a pause", many)?;
    Ok(Scrape { milliseconds: Figures::of(took), bytes, wait })
}

/// One scrape; tells its bytes.
fn ask() -> Result<usize> {
    let mut stream = TcpStream::connect(ADDRESS)?;
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: {ADDRESS}\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    ensure!(answer.starts_with("HTTP/1.1 200 "), "{}", answer.lines().next().unwrap_or_default());
    Ok(answer.len())
}

/// All of it.
pub fn table(scrape: Option<&Scrape>) -> Table {
    let rows = scrape.map_or_else(Vec::new, |scrape| {
        vec![
            vec!["the middle one of 101 scrapes".to_owned(), format!("{:.1} ms", scrape.milliseconds.median)],
            vec!["its bytes".to_owned(), grouped(scrape.bytes as u64)],
            vec!["longest answer to another client".to_owned(), format!("{:.1} ms", scrape.wait.worst)],
        ]
    });
    Table {
        title: "A scrape with 990,000 entries on 990 lists".to_owned(),
        heads: ["what", "measured"].map(str::to_owned).into(),
        rows,
    }
}
