//! The page at `/` in a real browser: its numbers are those of the command line, it is legible on a phone and on a wide screen,
//! by day and by night, what comes from elsewhere is text to it, and it says so when nobody answers.

use std::thread;
use std::time::{Duration, Instant};

use harness::{ATTACKER, BYSTANDER, Browser, Look, Net, Tab};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

const CONFIG: &str = "metrics: {listen: 127.0.0.1:9477}";

pub const ADDRESS: &str = "http://127.0.0.1:9477/";

pub const WIDE: Look = Look { width: 1400, is_dark: false };

/// Machines are slow, and browsers are large.
const SOON: Duration = Duration::from_secs(60);

/// All that is to be read; nothing yet on a page that has only begun to come.
const ALL: &str = "document.body?.innerText ?? ''";

/// What somebody sees who has difficulty in seeing: texts whose contrast is less than 4.5 to 1, as WCAG 2 reckons it, and curves
/// below 3 to 1.
const PALE: &str = "(() => {
    const parts = colour => colour.match(/[\\d.]+/g).map(Number);
    const light = colour => {
        const [r, g, b] = parts(colour).map(part => part / 255).map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = node => {
        for (; node; node = node.parentElement) {
            const colour = getComputedStyle(node).backgroundColor;
            if ((parts(colour)[3] ?? 1) > 0) return colour;
        }
        return 'rgb(255, 255, 255)';
    };
    const contrast = (one, other) => {
        const [more, less] = [light(one), light(other)].sort((a, b) => b - a);
        return (more + 0.05) / (less + 0.05);
    };
    const own = node => [...node.childNodes].some(child => child.nodeType === Node.TEXT_NODE && child.data.trim());
    const texts = [...document.querySelectorAll('body *')].filter(node => !['SCRIPT', 'NOSCRIPT'].includes(node.tagName) && own(node));
    const ink = node => { const style = getComputedStyle(node); return node.namespaceURI.endsWith('svg') ? style.fill : style.color; };
    const pale = texts.filter(node => contrast(ink(node), behind(node)) < 4.5);
    const curves = [...document.querySelectorAll('.curve')].filter(node => contrast(getComputedStyle(node).stroke, behind(node)) < 3);
    return { seen: texts.length, pale: [...pale, ...curves].map(node => node.outerHTML) };
})()";

/// A browser beside filterd; where there is none, that is told.
pub fn browser(net: &Net) -> Option<Browser> {
    let browser = Browser::start(net.host(), net.home());
    if browser.is_none() {
        println!("SKIPPED the page in a browser: this machine has no chromium-headless-shell");
    }
    browser
}

#[track_caller]
pub fn until(mut is_so: impl FnMut() -> bool, why: impl FnOnce() -> String) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < SOON, "{}", why());
        thread::sleep(Duration::from_millis(50));
    }
}

#[track_caller]
fn comes_to_say(tab: &mut Tab<'_>, words: &str) {
    until(|| text(tab, ALL).contains(words), || words.to_owned());
}

#[track_caller]
fn text(tab: &mut Tab<'_>, expression: &str) -> String {
    tab.tells(expression).as_str().map(str::to_owned).unwrap_or_else(|| panic!("{expression} is no text"))
}

/// The cells of a table, row by row, without the commas in numbers.
fn cells(tab: &mut Tab<'_>, table: &str) -> Vec<Vec<String>> {
    let rows = tab.tells(&format!(
        "[...document.querySelectorAll('#{table} tbody tr')].map(row => [...row.cells].map(cell => cell.textContent))"
    ));
    let rows: Vec<Vec<String>> = serde_json::from_value(rows).expect("rows of cells");
    rows.into_iter().map(|row| row.into_iter().map(|cell| cell.replace(',', "")).collect()).collect()
}

/// Reason, verdict, packets and bytes, as the page says them.
pub fn shown_reasons(tab: &mut Tab<'_>) -> Vec<[String; 4]> {
    let rows = cells(tab, "reasons");
    rows.into_iter().map(|row| [0, 1, 2, 4].map(|column| row[column].clone())).collect()
}

/// The same as `stats --json` does.
fn told_reasons(net: &Net) -> Vec<[String; 4]> {
    let stats = net.filterd(["stats", "--json"]).succeeds().json();
    let rows = stats["reasons"].as_array().expect("rows").iter();
    let is_told = |row: &&Value| row["packets"] != 0 || row["verdict"] == "pass" || row["verdict"] == "drop";
    // What is not there is an empty cell.
    let word = |value: &Value| {
        let text = value.as_str().map_or_else(|| value.to_string(), |text| text.replace('_', " "));
        if value.is_null() { String::new() } else { text }
    };
    rows.filter(is_told)
        .map(|row| {
            [
                row["reason"].as_str().expect("a name").to_owned(),
                word(&row["verdict"]),
                word(&row["packets"]),
                word(&row["bytes"]),
            ]
        })
        .collect()
}

/// Name, entries and hits, as the page says them, by name.
pub fn shown_lists(tab: &mut Tab<'_>) -> Vec<[String; 3]> {
    let rows = cells(tab, "lists").into_iter();
    let mut rows: Vec<_> = rows.map(|row| [0, 2, 3].map(|column| row[column].clone())).collect();
    rows.sort();
    rows
}

/// The same as `lists --json` does.
fn told_lists(net: &Net) -> Vec<[String; 3]> {
    let lists = net.filterd(["lists", "--json"]).succeeds().json();
    let row = |list: &Value| {
        let hits = &list["hits"];
        let all = ["dropped", "would_drop", "paused"]
            .map(|kind| hits[kind].as_u64().unwrap_or(0))
            .iter()
            .sum::<u64>();
        let hits = if hits.is_null() { String::new() } else { all.to_string() };
        [list["name"].as_str().expect("a name").to_owned(), list["entries"].to_string(), hits]
    };
    let mut rows: Vec<_> = lists["lists"].as_array().expect("rows").iter().map(row).collect();
    rows.sort();
    rows
}

/// Name, entries and certainty of each table in the kernel, as the page says them.
fn shown_tables(tab: &mut Tab<'_>) -> Vec<[String; 3]> {
    cells(tab, "tables").into_iter().map(|row| [0, 1, 3].map(|column| row[column].clone())).collect()
}

/// The same as `status --json` does.
fn told_tables(net: &Net) -> Vec<[String; 3]> {
    let status = net.filterd(["status", "--json"]).succeeds().json();
    let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), |word| word.replace(',', ""));
    let row = |table: &Value| ["name", "entries", "certainty"].map(|field| word(&table[field]));
    status["tables"].as_array().expect("there are some").iter().map(row).collect()
}

#[test]
fn page_matches_command_line_at_every_size() {
    let mut net = Net::new();
    net.file("drop.txt", "203.0.113.0/24\n192.0.2.1\n");
    net.file("office.txt", "198.51.100.0/24\n");
    let lists =
        "lists: [{name: drop, path: $HOME/drop.txt}, {name: office, path: $HOME/office.txt, allow: true}]";
    net.start(&format!("{CONFIG}\n{lists}"));
    let Some(mut browser) = browser(&net) else { return };
    for (width, is_dark) in [(1400, false), (1400, true), (360, false), (360, true)] {
        let mut tab = browser.open(ADDRESS, Look { width, is_dark });
        comes_to_say(&mut tab, "What became of packets");
        for _ in 0..7 {
            net.expect(ATTACKER).dropped();
        }
        net.expect(BYSTANDER).passes();
        until(
            || shown_reasons(&mut tab) == told_reasons(&net),
            || format!("the page says the same as stats: {:#?}", told_reasons(&net)),
        );
        until(
            || shown_lists(&mut tab) == told_lists(&net),
            || format!("and as lists: {:#?}", told_lists(&net)),
        );
        let status = net.filterd(["status"]).succeeds().output;
        assert_eq!(
            text(&mut tab, "document.getElementById('protection').textContent"),
            status.lines().next().unwrap_or_default()
        );
        assert_eq!(cells(&mut tab, "interfaces")[0][..3], ["eth0", net.tc_mode(), "veth"]);
        assert_eq!(shown_tables(&mut tab), told_tables(&net));
        let too_wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
        assert_eq!(tab.tells(too_wide), 0, "nobody has to look for what is beside the screen");
        let contrast = tab.tells(PALE);
        assert!(contrast["seen"].as_u64() > Some(40), "{contrast}");
        assert_eq!(contrast["pale"], json!([]), "everything can be read");
        tab.picture(&format!("page-{width}-{}.png", if is_dark { "dark" } else { "light" }));
    }
    assert!(told_reasons(&net).iter().any(|[reason, verdict, packets, _]| reason == "ipv4_prefix"
        && verdict == "drop"
        && packets == "28"));
    assert_eq!(browser.complaints(), [] as [String; 0]);
}

/// Five minutes of example rates, with a flood in the midst, instead of the second that the test has taken.
const EXAMPLE: &str = "(() => {
    take = () => {};
    picture.config = '/etc/filterd/filterd.yaml';
    const last = points.at(-1);
    points = [];
    for (let second = 300; second >= 0; second--) {
        const ripple = Math.sin(second * 7) + Math.sin(second * 3), flood = 4000 * Math.exp(-(((second - 140) / 30) ** 4));
        points.push({ at: last.at - second * 1000, dropped: 400 + 60 * ripple + flood, spared: 0, passed: 9000 + 350 * ripple });
    }
    show();
})()";

#[test]
fn tutorial_has_a_picture_of_the_page() {
    let mut net = Net::new();
    net.file("bad.txt", "203.0.113.0/24\n192.0.2.66\n");
    net.start(&format!("{CONFIG}\nlists: [{{name: bad, path: $HOME/bad.txt}}]"));
    let Some(mut browser) = browser(&net) else { return };
    let mut tab = browser.open(ADDRESS, Look { width: 1200, is_dark: false });
    comes_to_say(&mut tab, "What became of packets");
    net.expect(ATTACKER).dropped();
    until(|| shown_reasons(&mut tab) == told_reasons(&net), || "the page shows the drops".to_owned());
    tab.tells(EXAMPLE);
    assert!(
        text(&mut tab, "document.getElementById('who').textContent").contains("/etc/filterd/filterd.yaml")
    );
    tab.picture("status-page.png");
}

#[test]
fn page_draws_rates_between_two_snapshots() {
    let mut net = Net::new();
    net.start(&format!("{CONFIG}\nblock: [{ATTACKER}]"));
    let Some(mut browser) = browser(&net) else { return };
    let mut tab = browser.open(ADDRESS, WIDE);
    comes_to_say(&mut tab, "Packets from listed sources");
    let seen = "(() => {
        const dropped = of => of.reasons.find(row => row.reason === 'ipv4_address' && row.verdict === 'drop').packets;
        const lines = [...document.querySelectorAll('#listed line')].map(line => Number(line.getAttribute('y1')));
        const ticks = [...document.querySelectorAll('#listed svg text')].map(text => text.textContent);
        return before && dropped(picture) > dropped(before) ? {
            more: dropped(picture) - dropped(before), time: picture.uptime - before.uptime,
            words: document.querySelector('#listed .legend').innerText, lines, top: ticks[lines.length],
            y: Number(document.querySelector('#listed .dropped').getAttribute('d').split(' ').at(-1)),
        } : null;
    })()";
    let mut shown = Value::Null;
    until(
        || {
            net.expect(ATTACKER).dropped();
            shown = tab.tells(seen);
            !shown.is_null()
        },
        || "a rate above zero is to be shown".to_owned(),
    );
    let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("a number: {shown}"));
    let rate = number(&shown["more"]) * 1000.0 / number(&shown["time"]);
    // JavaScript rounds 16.25 up, while Rust formats it as 16.2.
    let tenths = (rate * 10.0).round() / 10.0;
    let told =
        if rate < 100.0 { format!("dropped {tenths:.1}/s") } else { format!("dropped {}/s", rate.round()) };
    assert!(
        shown["words"].as_str().is_some_and(|words| words.replace(',', "").contains(&told)),
        "{told}: {shown}"
    );
    let lines: Vec<f64> = shown["lines"].as_array().expect("lines").iter().map(number).collect();
    let (floor, ceiling) = (lines[0], lines[lines.len() - 1]);
    let top: f64 = shown["top"].as_str().and_then(|top| top.replace(',', "").parse().ok()).expect("a number");
    let y = floor - rate / top * (floor - ceiling);
    assert!((number(&shown["y"]) - y).abs() < 0.1, "{y}: {shown}");
}

#[test]
fn first_rates_are_none_rather_than_different() {
    let mut net = Net::new();
    net.start(&format!("{CONFIG}\nblock: [{ATTACKER}]"));
    // So much that the daemon knows a rate of its own, over other seconds than the page's.
    until(
        || {
            net.expect(ATTACKER).dropped();
            let lists = net.filterd(["lists", "--json"]).succeeds().json();
            lists["lists"]
                .as_array()
                .is_some_and(|rows| rows.iter().any(|row| row["rate"].as_f64() > Some(0.0)))
        },
        || "the daemon comes to know a rate".to_owned(),
    );
    let Some(mut browser) = browser(&net) else { return };
    let mut tab = browser.open(ADDRESS, WIDE);
    comes_to_say(&mut tab, "Each packet is counted for one list");
    // In one go, as it is with the first snapshot: nobody knows yet what was a second before.
    let shown = tab.tells(
        "(() => {
            const rates = (table, head) => [...document.querySelectorAll(`#${table} td[data-head='${head}']`)].map(cell => cell.textContent);
            before = null;
            show();
            return [rates('lists', 'hits/s'), rates('interfaces', 'received/s'), rates('interfaces', 'to drop/s'), rates('reasons', 'packets/s')].flat();
        })()",
    );
    let shown = shown.as_array().expect("cells");
    assert!(shown.len() > 3 && shown.iter().all(|rate| rate == ""), "{shown:?}");
    let caption = text(
        &mut tab,
        "(() => { picture.gone = { dropped: 1, would_drop: 0, paused: 0 }; showLists(); return at('lists').caption.textContent; })()",
    );
    assert!(caption.contains("1 hit of lists that are gone"), "{caption}");
}

#[test]
fn page_sorts_lists_and_shortens_long_ones() {
    let mut net = Net::new();
    let mut lists = String::new();
    for number in 0..30 {
        let targets: String = (0..=number).map(|host| format!("198.18.{number}.{host}\n")).collect();
        net.file(&format!("{number}.txt"), &targets);
        lists += &format!("- {{name: list-{:02}, path: $HOME/{number}.txt}}\n", 29 - number);
    }
    net.start(&format!("{CONFIG}\nlists:\n{lists}"));
    let Some(mut browser) = browser(&net) else { return };
    let mut tab = browser.open(ADDRESS, WIDE);
    comes_to_say(&mut tab, "list-29");
    let shown = |tab: &mut Tab<'_>| -> Vec<String> {
        cells(tab, "lists").into_iter().map(|mut row| row.swap_remove(0)).collect()
    };
    // Beside them are those of `block:` and of what this host needs.
    let ours = |tab: &mut Tab<'_>| -> Vec<String> {
        shown(tab).into_iter().filter(|name| name.starts_with("list-")).collect()
    };
    let choose = |tab: &mut Tab<'_>, order: &str| {
        tab.tells(&format!("at('order').value = '{order}'; at('order').dispatchEvent(new Event('change'))"));
    };
    choose(&mut tab, "name");
    let names: Vec<_> = (0..25).map(|number| format!("list-{number:02}")).collect();
    until(|| ours(&mut tab)[..20] == names[..20], || "they stand by name".to_owned());
    choose(&mut tab, "entries");
    until(|| ours(&mut tab)[0] == "list-00", || "who has most stands first".to_owned());
    choose(&mut tab, "configured");
    until(|| ours(&mut tab)[0] == "list-29", || "they stand as configured".to_owned());
    assert_eq!(shown(&mut tab).len(), 25);
    let all = told_lists(&net).len();
    assert_eq!(text(&mut tab, "at('all').textContent"), format!("Show all {all}"));
    tab.tells("at('all').click()");
    assert_eq!(shown(&mut tab).len(), all);
    assert_eq!(browser.complaints(), [] as [String; 0]);
}

#[test]
fn sources_are_shown_where_that_is_asked_for() {
    let mut net = Net::new();
    net.start(&format!("{}\nblock: [{ATTACKER}]", CONFIG.replace('}', ", sources: 3}")));
    let Some(mut browser) = browser(&net) else { return };
    let mut tab = browser.open(ADDRESS, WIDE);
    comes_to_say(&mut tab, "Sources that send most of it");
    until(
        || {
            net.expect(ATTACKER).dropped();
            cells(&mut tab, "sources").first().is_some_and(|row| row[0] == ATTACKER && row[3] == "config")
        },
        || "the one who sends is shown with its list".to_owned(),
    );
    // Out of the same picture, and over the time that it tells.
    let shown = tab.tells(
        "[at('sources').tBodies[0].rows[0].cells[1].textContent, perSecond(picture.top_sources.rows[0].packets / picture.top_sources.over)]",
    );
    assert!(shown[0] == shown[1] && shown[0].as_str().is_some_and(|rate| rate != "0.0"), "{shown}");
    tab.picture("page-sources.png");
    net.configure(&format!("{CONFIG}\nblock: [{ATTACKER}]"));
    net.filterd(["reload"]).succeeds();
    until(
        || tab.tells("at('sources').closest('section').hidden") == true,
        || "nobody asks for them any more".to_owned(),
    );
    assert_eq!(browser.complaints(), [] as [String; 0]);
}

#[test]
fn page_shows_foreign_text_as_text() {
    const EVIL: &str = "<script>window.owned = 1</script><img src=x onerror='window.owned = 1'><b>";
    let mut net = Net::new();
    net.start(&format!("{CONFIG}\nlists: [{{name: gone, path: \"$HOME/{EVIL}.txt\"}}]"));
    let Some(mut browser) = browser(&net) else { return };
    let mut tab = browser.open(ADDRESS, WIDE);
    comes_to_say(&mut tab, EVIL);
    assert_eq!(tab.tells("at('troubles').hidden"), false, "what is to be mended stands above all else");
    assert!(
        text(&mut tab, "document.getElementById('troubles').innerText").contains("reload"),
        "its remedy is told, too"
    );
    // No list can be called so; should one be some day, or a daemon be replaced by something else, it is text, too.
    let evil = json!({"name": EVIL, "kind": EVIL, "entries": 1, "shared": 0, "ports": EVIL});
    let interface = json!({"name": EVIL, "mode": EVIL, "driver": EVIL, "note": EVIL});
    // In one go: a second later it shows what is so.
    let places = ["protection", "who", "lists", "interfaces", "reasons"];
    let shown = tab.tells(&format!(
        "show(take({{ protection: {{ standing: '', sentence: {evil}.name }}, snapshot: {{ ...picture, uptime: picture.uptime + 1, config: {evil}.name,
            lists: [{evil}], interfaces: [{interface}], reasons: [{{ reason: {evil}.name, verdict: 'drop', packets: 1, meaning: {evil}.name }}] }} }})),
            {}.map(place => document.getElementById(place).textContent)",
        json!(places)
    ));
    for (at, place) in places.into_iter().enumerate() {
        let shown = &shown[at];
        assert!(shown.as_str().is_some_and(|text| text.contains(EVIL)), "{place}: {shown}");
    }
    comes_to_say(&mut tab, "gone");
    assert_eq!(tab.tells("document.querySelectorAll('main img, main script, main b').length"), 0);
    assert_eq!(text(&mut tab, "typeof window.owned"), "undefined");
    assert_eq!(tab.complaints(), [] as [String; 0]);
}

#[test]
fn page_shows_lost_and_restored_connection() {
    let mut net = Net::new();
    net.start(CONFIG);
    let Some(mut browser) = browser(&net) else { return };
    let mut tab = browser.open(ADDRESS, WIDE);
    comes_to_say(&mut tab, "Working as configured");
    tab.tells("window.isTheSame = true");
    net.daemon().signal(Signal::SIGSTOP);
    comes_to_say(&mut tab, "the daemon is silent");
    net.daemon().signal(Signal::SIGCONT);
    until(
        || text(&mut tab, "document.getElementById('protection').textContent").starts_with("Working"),
        || "it goes on".to_owned(),
    );
    let unknown = "points.filter(point => point.dropped === null).length";
    assert_eq!(tab.tells(unknown), 2, "of the first moment, and of what was missed, nobody knows a rate");
    assert!(net.stop().success());
    comes_to_say(&mut tab, "NO ANSWER since");
    assert!(text(&mut tab, "document.title").starts_with("(?) "));
    tab.picture("page-no-answer.png");
    net.start(CONFIG);
    until(
        || text(&mut tab, "document.getElementById('protection').textContent").starts_with("Working"),
        || "it goes on".to_owned(),
    );
    assert_eq!(tab.tells("window.isTheSame"), true, "nobody had to load it again");
    assert!(tab.tells(unknown).as_u64() > Some(2), "of what nobody knows no rate is made up");
}
