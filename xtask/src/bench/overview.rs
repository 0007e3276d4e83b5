//! docs/explanation/benchmarks.md: what users compare, out of the pages of the benchmarks, with bars. Goals stand in a page of their
//! own, docs/benchmarks/goals.md.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};
use bpf_build::{process, workspace};

use super::What;
use super::bars::{self, Bar};
use super::pages::{self, Table};

const OVERVIEW: &str = "docs/explanation/benchmarks.md";
const PAGES: &str = "docs/benchmarks";
const GOALS: &str = "docs/benchmarks/goals.md";

/// Runs a benchmark. If it `writes`, then its page, and what is made out of all pages.
pub fn with_page(benchmark: &mut Command, name: &str, writes: bool) -> Result<()> {
    if writes {
        let pages = workspace::root().join(PAGES);
        fs::create_dir_all(&pages).with_context(|| format!("cannot make {}", pages.display()))?;
        benchmark.arg("--page").arg(page(name));
    }
    process::run(benchmark).context("cannot measure")?;
    if writes { write() } else { Ok(()) }
}

/// Makes the overview, its bars and the page of goals out of the pages, and measures nothing.
pub fn write() -> Result<()> {
    let old = fs::read_to_string(file(GOALS)).unwrap_or_default();
    let entries: Vec<_> =
        What::benchmarks().into_iter().map(|(name, about)| Entry::read(name, about, &old)).collect();
    for entry in &entries {
        write_file(&format!("{PAGES}/{}.md", entry.name), &entry.page)?;
    }
    write_file(GOALS, &goals(&entries))?;
    for comparison in &COMPARISONS {
        if let Some(picture) = comparison.picture(&entries) {
            write_file(&format!("{PAGES}/{}", comparison.file()), &picture)?;
        }
    }
    write_file(OVERVIEW, &overview(&entries))
}

/// A table that users compare, and the bars of one of its columns.
struct Comparison {
    heading: &'static str,
    words: &'static str,
    /// The name of the benchmark.
    of: &'static str,
    title: &'static str,
    columns: &'static [&'static str],
    rows: &'static [&'static str],
    bars: &'static str,
    caption: &'static str,
    unit: &'static str,
}

const FILTERS: [&str; 9] = [
    "filterd, native",
    "filterd, TC",
    "xdp-filter",
    "nftables, netdev ingress",
    "nftables, prerouting",
    "iptables and ipset",
    "BPF hash map",
    "a program that drops all",
    "no filter",
];
const LISTS: [&str; 6] = [
    "filterd, list file",
    "filterd, list file of IPv6 /64s",
    "ipset restore",
    "nft --file",
    "xdp-filter, its limit raised",
    "BPF hash map",
];
const SIZES: [&str; 4] = ["entries", "100 000", "1 000 000", "10 000 000"];

const COMPARISONS: [Comparison; 6] = [
    Comparison {
        heading: "Frames from a listed source",
        words: "Nanoseconds of processor time for one frame from a listed source, until it is dropped. One million IPv4 addresses \
                are listed. The program that drops all looks at nothing: it is the least that XDP can cost.",
        of: "live",
        title: "Nanoseconds a frame",
        columns: &["filter", "a listed frame"],
        rows: FILTERS.first_chunk::<8>().expect("there are nine"),
        bars: "a listed frame",
        caption: "Processor time to drop a frame, 1,000,000 addresses listed",
        unit: "ns",
    },
    Comparison {
        heading: "All other frames",
        words: "The time that each filter adds to a frame from an unlisted source, which passes.",
        of: "live",
        title: "Nanoseconds a frame",
        columns: &["filter", "added by the filter"],
        rows: FILTERS.first_chunk::<7>().expect("there are nine"),
        bars: "added by the filter",
        caption: "Processor time added to any other frame, 1,000,000 addresses listed",
        unit: "ns",
    },
    Comparison {
        heading: "Time to load a list",
        words: "Seconds from the start of the command until the list filters.",
        of: "load",
        title: "Seconds until a list filters",
        columns: &SIZES,
        rows: &LISTS,
        bars: "1 000 000",
        caption: "Time to load 1,000,000 addresses",
        unit: "s",
    },
    Comparison {
        heading: "Memory",
        words: "Bytes of the kernel's memory for each entry.",
        of: "load",
        title: "Bytes of the kernel's memory an entry",
        columns: &SIZES,
        rows: &LISTS,
        bars: "1 000 000",
        caption: "Kernel memory for each of 1,000,000 addresses",
        unit: "B",
    },
    Comparison {
        heading: "One more address",
        words: "Microseconds for a command that adds one address to a list of that length. A durable addition is on disk when the \
                command ends.",
        of: "load",
        title: "Microseconds to add one address",
        columns: &SIZES,
        rows: &["filterd add, durable", "filterd add, not durable", "ipset add", "nft add element"],
        bars: "1 000 000",
        caption: "Time to add one address to 1,000,000 by command",
        unit: "µs",
    },
    Comparison {
        heading: "From decision to drop",
        words: "Milliseconds from a decision of CrowdSec to the last packet that arrives. The time in a row's name is that between \
                two requests to CrowdSec's local API (LAPI) on the same host. The firewall bouncer is CrowdSec's own. With so few \
                decisions, the 99th percentile is the slowest one.",
        of: "crowdsec",
        title: "Milliseconds from a decision to the drop",
        columns: &["program", "decisions", "p50", "p99"],
        rows: &[
            "filterd, 1 s (default)",
            "filterd, 250 ms",
            "firewall bouncer, 1 s",
            "firewall bouncer, 10 s (default)",
        ],
        bars: "p50",
        caption: "Time from a decision of CrowdSec to the drop, median",
        unit: "ms",
    },
];

impl Comparison {
    fn table(&self, entries: &[Entry]) -> Option<Table> {
        let entry = entries.iter().find(|entry| entry.name == self.of)?;
        Some(pages::table(&entry.page, self.title)?.part(self.columns, self.rows))
    }

    /// The name of its picture: `live-listed-frame.svg`.
    fn file(&self) -> String {
        let words = self.heading.to_lowercase().replace(' ', "-");
        format!("{}-{words}.svg", self.of)
    }

    fn picture(&self, entries: &[Entry]) -> Option<String> {
        let table = self.table(entries)?;
        let at = table.heads.iter().position(|head| head == self.bars)?;
        let bar = |row: &Vec<String>| {
            let cell = row[at].split(" (").next().unwrap_or_default();
            let shown = format!("{cell} {}", self.unit);
            Some(Bar { name: row[0].clone(), value: pages::number(cell)?, shown })
        };
        Some(bars::draw(self.caption, table.rows.iter().filter_map(bar).collect()))
    }

    fn text(&self, entries: &[Entry]) -> String {
        let Some(table) = self.table(entries) else { return String::new() };
        let measured =
            entries.iter().find(|entry| entry.name == self.of).and_then(|entry| entry.measured.clone());
        format!(
            "## {}\n\n{}\n\n![{}](../benchmarks/{})\n\n{}\nMeasured {}. [All figures](../benchmarks/{}.md).\n\n",
            self.heading,
            self.words,
            self.caption,
            self.file(),
            table.markdown(),
            measured.unwrap_or_default(),
            self.of
        )
    }
}

/// A benchmark, its page, and its goals.
struct Entry {
    name: String,
    about: String,
    page: String,
    /// When, and on what machine.
    measured: Option<String>,
    goals: String,
}

impl Entry {
    /// A benchmark whose page is not written yet has nothing. Goals that left the page before are in the page of goals.
    fn read(name: String, about: String, old: &str) -> Self {
        let text = fs::read_to_string(page(&name)).unwrap_or_default();
        Self::of(name, about, &text, old)
    }

    fn of(name: String, about: String, text: &str, old: &str) -> Self {
        let parts = pages::split(text);
        let measured = measured(text);
        let goals = if parts.goals.is_empty() { goals_of(&name, old) } else { parts.goals };
        Self { name, about, page: parts.page, measured, goals }
    }
}

/// The section of a benchmark in the page of goals, without its heading and its first line.
fn goals_of(name: &str, old: &str) -> String {
    let section = old.split("\n## ").find_map(|section| section.strip_prefix(&format!("{name}\n")));
    let goals = section.and_then(|section| section.split_once("\n### ")).map(|(_, goals)| goals);
    goals.map_or_else(String::new, |goals| format!("### {}", goals.trim_end()))
}

/// When it was measured, and on what machine; the page says how busy that was.
fn measured(page: &str) -> Option<String> {
    let line = page.lines().find_map(|line| line.strip_prefix("Measured "))?;
    Some(line.split(", load average").next().unwrap_or(line).trim_end_matches('.').to_owned())
}

const GOALS_WORDS: &str =
    "The developers aim at these. Users can ignore them. A goal that is missed fails no test.";

fn goals(entries: &[Entry]) -> String {
    let mut text = format!(
        "# Goals of the benchmarks\n\nMade by `cargo xtask bench`; do not edit.\n\n{GOALS_WORDS}\n\n## Missed\n\n"
    );
    text += "| page | goal | measured |\n| --- | --- | ---: |\n";
    for entry in entries {
        for goal in pages::goals(&entry.goals).iter().filter(|goal| !goal.holds) {
            _ = writeln!(text, "| {} | {} | {} |", entry.name, goal.words, goal.measured);
        }
    }
    for entry in entries.iter().filter(|entry| !entry.goals.is_empty()) {
        let all = pages::goals(&entry.goals);
        let held = all.iter().filter(|goal| goal.holds).count();
        let measured = entry.measured.clone().unwrap_or_default();
        _ = write!(
            text,
            "\n## {}\n\n{held} of {} hold. Measured {measured}.\n\n{}\n",
            entry.name,
            all.len(),
            entry.goals
        );
    }
    text
}

const INTRODUCTION: &str = "Trust ratios before digits, and your own machine before ours: `cargo xtask bench` repeats all of this. All filters take \
turns in one run. Figures are medians; brackets hold the middle half of the rounds.";

const REPEAT: &str = "`cargo xtask bench` runs all of them and writes their pages. It takes about 40 minutes. Each benchmark is also a \
command of its own. They print plain tables, or one object with `--json`. With `--short` they are faster and less exact, and write no page.

`cargo xtask bench --beside PROGRAM` measures a program of yours, too: a driver for a C++ library that you have built, for example. \
`tests/bench/filter/beside.rs` describes what it reads and what it must print.

The developers' [goals](../benchmarks/goals.md), and those that are missed, have a page of their own.";

fn overview(entries: &[Entry]) -> String {
    let mut text = format!("# Benchmarks\n\nMade by `cargo xtask bench`; do not edit.\n\n{INTRODUCTION}\n\n");
    COMPARISONS.iter().for_each(|comparison| text += &comparison.text(entries));
    text += "## All benchmarks\n\n| command | what it measures | page |\n| --- | --- | --- |\n";
    for Entry { name, about, .. } in entries {
        _ = writeln!(text, "| `cargo xtask bench {name}` | {about} | [{name}](../benchmarks/{name}.md) |");
    }
    format!("{text}\n{REPEAT}\n")
}

fn page(name: &str) -> PathBuf {
    file(PAGES).join(name).with_extension("md")
}

fn file(name: &str) -> PathBuf {
    workspace::root().join(name)
}

fn write_file(name: &str, text: &str) -> Result<()> {
    fs::write(file(name), text).with_context(|| format!("cannot write {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# Live\n\nMeasured on 2026-11-21 on 2 × Z80, L1 none, load average 0.10.\n\n## Frames\n\nWords.\n\n\
        ### Nanoseconds a frame\n\n| filter | a listed frame | added by the filter |\n| --- | ---: | ---: |\n| filterd, native | 67 (65…69) | 60 (43…70) |\n\
        | xdp-filter | 719 (705…730) | 255 (249…270) |\n| other | 1 | 2 |\n\n## Goals\n\nOf medians.\n\n### Goals\n\n\
        | goal | measured | holds |\n| --- | ---: | ---: |\n| fast ≤ 1 | 0.50 | yes |\n| small ≤ 2 | 3.00 | no |\n";

    fn entry(name: &str, page: &str, old: &str) -> Entry {
        Entry::of(name.to_owned(), "it".to_owned(), page, old)
    }

    #[test]
    fn the_overview_leads_with_what_users_compare() {
        let text = overview(&[entry("live", PAGE, ""), entry("paper", "# Paper\n", "")]);
        let frames = text.find("## Frames from a listed source").unwrap();
        assert!(frames < text.find("## All benchmarks").unwrap(), "{text}");
        assert!(text.contains("| filter | a listed frame |\n| --- | ---: |\n| filterd, native | 67 (65…69) |\n| xdp-filter | 719 (705…730) |\n\nMeasured on 2026-11-21 on 2 × Z80, L1 none. [All figures](../benchmarks/live.md)."), "{text}");
        assert!(text.contains("](../benchmarks/live-frames-from-a-listed-source.svg)"), "{text}");
        assert!(!text.contains("Time to load") && !text.contains("small ≤ 2"), "{text}");
    }

    #[test]
    fn goals_page_names_missed_goals() {
        let entries = [entry("live", PAGE, ""), entry("paper", "# Paper\n", "")];
        let text = goals(&entries);
        assert!(text.contains("| live | small ≤ 2 | 3.00 |") && !text.contains("| live | fast"), "{text}");
        assert!(
            text.contains(
                "## live\n\n1 of 2 hold. Measured on 2026-11-21 on 2 × Z80, L1 none.\n\n### Goals\n\nOf medians.\n\n| goal"
            ),
            "{text}"
        );
        assert!(!text.contains("## paper"), "{text}");
    }

    #[test]
    fn goals_stay_while_other_benchmarks_run() {
        let entries = [entry("live", PAGE, "")];
        let old = goals(&entries);
        let again = [entry("live", &entries[0].page, &old)];
        assert_eq!(goals(&again), old);
    }

    #[test]
    fn pictures_show_the_figures_of_the_table() {
        let entries = [entry("live", PAGE, "")];
        let picture = COMPARISONS[1].picture(&entries).unwrap();
        assert!(
            picture.contains(">60 ns<") && picture.contains(">255 ns<") && !picture.contains(">other<"),
            "{picture}"
        );
        assert!(COMPARISONS[2].picture(&entries).is_none());
    }
}
