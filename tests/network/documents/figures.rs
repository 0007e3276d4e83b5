//! Each number in README's claims and in its comparison stands in the generated page, or in the test, that holds it.

use std::fs;
use std::path::Path;

const LIVE: &str = "docs/benchmarks/live.md";
const LOAD: &str = "docs/benchmarks/load.md";

const FRAMES: Table = Table { page: LIVE, heading: "Nanoseconds a frame" };
const SECONDS: Table = Table { page: LOAD, heading: "Seconds until a list filters" };
const BYTES: Table = Table { page: LOAD, heading: "Bytes of the kernel's memory an entry" };
const MICROSECONDS: Table = Table { page: LOAD, heading: "Microseconds to add one address" };
const SCRAPE: Table = Table { page: LOAD, heading: "A scrape with 990,000 entries on 990 lists" };

/// Claims of README with a measured number in place of `{}`: where it is measured, in which unit, with how many decimals.
const MEASURED: [(&str, Table, &str, &str, f64, usize); 8] = [
    ("dropping a frame takes {} ns.", FRAMES, "filterd, native", "a listed frame", 1.0, 0),
    ("nftables and ipset take {}", FRAMES, "xdp-filter", "a listed frame", 1.0, 0),
    (" to {} ns.", FRAMES, "iptables and ipset", "a listed frame", 1.0, 0),
    ("addresses listed, each takes {} bytes", BYTES, "filterd, list file", "1 000 000", 1.0, 2),
    ("with ten million, {} (", BYTES, "filterd, list file", "10 000 000", 1.0, 2),
    ("`filterd add` takes {} ms", MICROSECONDS, "filterd add, durable", "1 000 000", 1000.0, 1),
    (" takes {} ms ([measured]", SCRAPE, "the middle one", "measured", 1.0, 1),
    (
        "If its driver has no XDP, dropping a frame takes {} ns",
        FRAMES,
        "filterd, TC",
        "a listed frame",
        1.0,
        0,
    ),
];

/// Other words of README with numbers, and the words of a page or a test that hold them.
const HELD: [(&str, &str, &str); 12] = [
    ("With a million addresses listed", LIVE, "1 000 000 addresses are listed"),
    ("all 4,294,967,296 addresses", "tests/soak/exact/four.rs", "0..=u32::MAX"),
    ("a scrape of 990 lists", LOAD, "990,000 entries on 990 lists"),
    ("three times each. Not one listed packet passes", "tests/network/no_gap.rs", "for _ in 0..3"),
    (
        "its own addresses, its gateways, its name servers, and hosts with a login session",
        "tests/network/guard.rs",
        "guard_follows_addresses_routes_nameservers_and_sessions",
    ),
    (
        "Before Linux 6.6, `tc qdisc del` removes a [filter in TC](docs/explanation/packet-path.md#where-it-happens)",
        "docs/explanation/packet-path.md",
        "`tcx` needs Linux 6.6.",
    ),
    (
        "128 MiB and 200 bytes for each entry",
        "docs/explanation/guarantees.md",
        "128 MiB and 200 bytes for each entry",
    ),
    (
        "`filterd reload --confirm 60s` undoes itself",
        "tests/network/confirm.rs",
        r#"["reload", "--confirm", "1s"]"#,
    ),
    ("fewer than one packet in 10^17", "filter-daemon/src/daemon/report.rs", "less than one packet in 10^17"),
    ("measured with a veth pair ([live.md]", LIVE, "over a veth pair"),
    ("all on an AMD EPYC", LIVE, "on 2 × AMD EPYC"),
    ("all on an AMD EPYC", LOAD, "on 2 × AMD EPYC"),
];

/// Measured rows of README's comparison.
const COMPARED: [Compared; 5] = [
    Compared {
        label: "CPU time to drop a frame",
        of: FRAMES,
        column: "a listed frame",
        unit: "ns",
        rows: IN_FRAMES,
    },
    Compared {
        label: "CPU time added to a frame that is not listed",
        of: FRAMES,
        column: "added by the filter",
        unit: "ns",
        rows: IN_FRAMES,
    },
    Compared { label: "Kernel memory per address", of: BYTES, column: "1 000 000", unit: "B", rows: LOADED },
    Compared { label: "Time to load the list", of: SECONDS, column: "1 000 000", unit: "s", rows: LOADED },
    Compared {
        label: "Time to add one more address",
        of: MICROSECONDS,
        column: "1 000 000",
        unit: "ms",
        rows: ADDED,
    },
];

/// One row: where filterd's value and those of the others are measured.
struct Compared {
    label: &'static str,
    of: Table,
    column: &'static str,
    unit: &'static str,
    rows: [&'static str; 4],
}

const IN_FRAMES: [&str; 4] =
    ["filterd, native", "nftables, netdev ingress", "iptables and ipset", "xdp-filter"];
const LOADED: [&str; 4] =
    ["filterd, list file", "nft --file", "ipset restore", "xdp-filter, its limit raised"];
/// One more address was not added to xdp-filter.
const ADDED: [&str; 4] = ["filterd add, durable", "nft add element", "ipset add", ""];

/// A table of a generated page, by the heading above it.
#[derive(Clone, Copy)]
struct Table {
    page: &'static str,
    heading: &'static str,
}

impl Table {
    /// The number with which a cell begins.
    fn number(self, row: &str, column: &str) -> f64 {
        let page = read(self.page);
        let (_, table) = page.split_once(self.heading).unwrap_or_else(|| panic!("no {}", self.heading));
        let mut rows = table.lines().skip_while(|line| !line.starts_with('|')).map(cells);
        let head = rows.next().expect("a table has a head");
        let column =
            head.iter().position(|cell| cell == column).unwrap_or_else(|| panic!("no {column}: {head:?}"));
        let row = rows
            .take_while(|cells| cells.len() > 1)
            .find(|cells| cells[0] == row || cells[0].starts_with(&format!("{row} ")));
        let cell = &row.expect("the table has this row")[column];
        let number: String = cell.chars().take_while(|letter| "0123456789. ".contains(*letter)).collect();
        number.replace(' ', "").parse().unwrap_or_else(|_| panic!("{cell:?} begins with no number"))
    }
}

#[test]
fn claims_of_readme_are_measured_or_tested() {
    let readme = on_one_line(&read("README.md"));
    let mut claims = Vec::new();
    for (claim, table, row, column, unit, decimals) in MEASURED {
        let number = format!("{:.decimals$}", table.number(row, column) / unit);
        claims.push(claim.replace("{}", &number));
    }
    for (claim, file, words) in HELD {
        assert!(read(file).contains(words), "{file} does not hold {claim:?}");
        claims.push(claim.to_owned());
    }
    let missing: Vec<_> = claims.iter().filter(|claim| !readme.contains(claim.as_str())).collect();
    assert!(missing.is_empty(), "README does not say, or says otherwise: {missing:#?}");
    let (_, why) = readme.split_once("## Why filterd").expect("README makes claims");
    let (why, _) = why.split_once("## 60-second tour").expect("and then shows a tour");
    let rest = claims.iter().fold(why.to_owned(), |rest, claim| rest.replace(claim, ""));
    let rest = rest.replace("IPv4", "").replace("IPv6", "");
    assert!(!rest.contains(|letter: char| letter.is_ascii_digit()), "nothing holds a number in: {rest}");
}

#[test]
fn comparison_in_readme_shows_measured_values() {
    let readme = read("README.md");
    let (_, table) = readme.split_once("## How it compares").expect("README compares");
    let shown =
        table.lines().filter(|line| line.starts_with('|') && line.contains(|c: char| c.is_ascii_digit()));
    assert_eq!(shown.collect::<Vec<_>>(), COMPARED.map(|row| row.shown()));
}

impl Compared {
    /// As README shows it, the least value bold.
    fn shown(&self) -> String {
        let Self { label, of, column, unit, rows } = self;
        let (scale, decimals) = match *unit {
            "ns" => (1.0, 0),
            // The page has microseconds.
            "ms" => (1000.0, 1),
            _ => (1.0, 2),
        };
        let values = rows.map(|row| (!row.is_empty()).then(|| of.number(row, column) / scale));
        let least = values.iter().flatten().copied().fold(f64::INFINITY, f64::min);
        let shown = values.map(|value| match value {
            None => "not measured".to_owned(),
            Some(value) if value == least => format!("**{value:.decimals$} {unit}**"),
            Some(value) => format!("{value:.decimals$} {unit}"),
        });
        let on_disk = if rows[0].ends_with("durable") { " (also written to disk)" } else { "" };
        let [filterd, others @ ..] = shown;
        format!("| {label} | {filterd}{on_disk} | {} |", others.join(" | "))
    }
}

fn cells(line: &str) -> Vec<String> {
    line.trim().trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
}

fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()))
}
