//! `export` and `import`: what was blocked and allowed goes into a file and comes back, with list, end and note.

use harness::{ATTACKER, ATTACKER6, BYSTANDER, Net};
use serde_json::json;

/// What is in force, as far as an import brings it back.
fn entries(net: &Net) -> Vec<String> {
    let text = net.filterd(["export"]).succeeds().output;
    text.lines().map(str::to_owned).collect()
}

#[test]
fn exported_entries_return_complete_and_drop() {
    let net = Net::with_filterd("");
    net.filterd(["add", ATTACKER, "--list", "ssh", "--ttl", "2h", "--note", "a \"b\" # c"]).succeeds();
    net.filterd(["add", ATTACKER6, "192.0.2.0/24"]).succeeds();
    net.filterd(["allow", "add", "192.0.2.7", "--ttl", "1d", "--note", "ours"]).succeeds();
    let before = entries(&net);
    assert_eq!(before.len(), 6, "a head, an end and four entries: {before:?}");
    for format in ["plain", "json"] {
        let text = net.filterd(["export", "--format", format]).succeeds().output;
        let file = net.file("export", &text);
        for list in ["ssh", "manual", "manual-allow"] {
            net.filterd(["flush", "--list", list]).succeeds();
        }
        net.expect(ATTACKER).passes();
        let told = net.filterd(["import", &file.display().to_string(), "--json"]).succeeds().json();
        assert_eq!((&told["changed"], &told["format"]), (&4.into(), &format.into()), "{told}");
        assert_eq!(told["allows"], 1, "whatever is blocked: {told}");
        net.expect(ATTACKER).dropped();
        net.expect(ATTACKER6).dropped();
        net.expect("192.0.2.8").dropped();
        net.expect("192.0.2.7").passes();
        assert_eq!(entries(&net), before, "from {format}");
        let again = net.filterd_reading(["import", "-", "--json"], &text).succeeds().json();
        assert_eq!(again["changed"], 0, "a second time: {again}");
    }
}

/// Import took every text with such a word for nft's own language.
#[test]
fn note_about_a_table_survives_import() {
    let net = Net::with_filterd("");
    for format in ["plain", "json", "ipset", "nft"] {
        net.filterd(["add", ATTACKER, "--note", "table inet x { scans a routing table"]).succeeds();
        let text = net.filterd(["export", "--format", format]).succeeds().output;
        net.filterd(["flush"]).succeeds();
        let imported = json!({"changed": 1, "format": format});
        net.filterd_reading(["import", "-", "--json"], &text).succeeds().has(imported);
        net.expect(ATTACKER).dropped();
        net.filterd(["flush"]).succeeds();
    }
}

/// Import took private ranges out of filterd's own exports for ipset and nft, which had them in force.
#[test]
fn special_ranges_of_an_export_come_back() {
    let net = Net::with_filterd("");
    for format in ["plain", "json", "ipset", "nft"] {
        net.filterd(["add", "10.66.0.0/16"]).succeeds();
        let text = net.filterd(["export", "--format", format]).succeeds().output;
        net.filterd(["flush"]).succeeds();
        net.filterd_reading(["import", "-", "--json"], &text).succeeds().has(json!({"changed": 1}));
        net.filterd(["flush"]).succeeds();
        let cut = &text[..=text.trim_end().rfind('\n').unwrap()];
        net.filterd_reading(["import", "-"], cut).exits(2).complains("nothing was imported");
        net.filterd(["list"]).succeeds().is_silent_about("10.66.0.0");
    }
}

/// By its name alone it allows what it names.
#[test]
fn imported_set_can_become_allow_list() {
    let net = Net::with_filterd(&format!("block: [{ATTACKER}]"));
    let saved = format!("create good.allow_4 hash:ip family inet\nadd good.allow_4 {ATTACKER}\n");
    net.filterd_reading(["import", "-", "--json"], &saved)
        .succeeds()
        .has(json!({"changed": 1, "entered": 1}));
    net.expect(ATTACKER).passes();
}

/// FAULTS W3-O12: an export of a machine with `block:` and `allow:` could not be restored on a fresh one.
#[test]
fn inline_entries_are_restored_on_a_fresh_machine() {
    let old = Net::with_filterd(&format!("block: [{ATTACKER}, {BYSTANDER}]\nallow: [{BYSTANDER}]"));
    old.filterd(["add", ATTACKER6]).succeeds();
    let export = old.filterd(["export", "--format", "json"]).succeeds().output;
    let before = entries(&old);
    drop(old);
    let net = Net::with_filterd("");
    let told = net.filterd_reading(["import", "-"], &export).exits(2);
    told.complains("nothing was imported").complains("--as-live").complains("--as-config");
    net.expect(ATTACKER6).passes();
    net.filterd_reading(["import", "-", "--as-live"], &export).succeeds().says("imported 4 entries");
    net.expect(ATTACKER).dropped();
    net.expect(ATTACKER6).dropped();
    net.expect(BYSTANDER).passes();
    net.filterd(["flush"]).succeeds();
    net.filterd(["flush", "--list", "manual-allow"]).succeeds();
    let lines = net.home().path("lines.yaml");
    let path = lines.display().to_string();
    let as_config = ["import", "-", "--as-config", &path];
    net.filterd_reading(["import", "-", "--as-config", &path, "--dry-run"], &export)
        .succeeds()
        .says("would write 3 entries");
    assert!(!lines.exists(), "a dry run writes nothing");
    net.filterd_reading(as_config, &export).succeeds().says("wrote 3 entries");
    net.filterd_reading(as_config, &export).exits(2).complains("cannot create");
    net.expect(ATTACKER).passes();
    net.configure(&std::fs::read_to_string(&lines).unwrap());
    net.filterd(["reload"]).succeeds();
    net.filterd_reading(["import", "-"], &export).succeeds().says("imported 1 entry");
    net.expect_each([ATTACKER, ATTACKER6]).dropped();
    net.expect(BYSTANDER).passes();
    assert_eq!(entries(&net), before);
}

/// Who loads such an export elsewhere has less blocked there: a script learns it by the exit code, with `-q` too.
#[test]
fn partial_export_has_its_own_exit_code() {
    let mut net = Net::new();
    net.file("ssh.txt", &format!("{ATTACKER}\n"));
    net.start("lists: [{name: ssh, path: $HOME/ssh.txt, ports: [22]}]");
    for format in ["plain", "nft", "ipset"] {
        net.filterd(["export", "--format", format])
            .exits(7)
            .complains("left out, because it blocks on port 22 only");
        net.filterd(["-q", "export", "--format", format]).exits(7).is_silent_about(ATTACKER);
        net.filterd(["export", "--format", format, "--live"]).succeeds();
    }
    net.filterd(["export", "--format", "json"]).succeeds().says("on port 22 only");
    net.filterd(["add", "198.51.100.0/24", "198.51.100.7"]).succeeds();
    let within = |exits| {
        net.filterd(["export", "--format", "nft", "--live"]).exits(exits).complains("a wider one");
    };
    // It is blocked all the same.
    within(0);
    net.filterd(["add", "198.51.100.0/24", "--ttl", "1h", "--shorten"]).succeeds();
    within(7);
}

#[test]
fn import_skips_and_reports_configured_entries() {
    let mut net = Net::new();
    net.file("drop.txt", &format!("{BYSTANDER}\n"));
    net.start("lists: [{name: drop, path: $HOME/drop.txt}]");
    let text = "create ssh hash:net family inet timeout 0 comment\n\
                add ssh 203.0.113.66 timeout 3600 comment \"x\"\n\
                add ssh 10.1.2.3\nadd drop 203.0.113.67\nadd partners.allow_4 203.0.113.68\nadd guard 203.0.113.69\nadd ssh 0.0.0.0/1\nnonsense\n";
    // What cannot be allowed, because a list of that name blocks, keeps everything else from being blocked.
    let unsafe_text = format!("{text}add ssh.allow_4 203.0.113.69\n");
    let refused = net.filterd_reading(["import", "-"], &unsafe_text).exits(2);
    refused.complains("allows 1 entry on list ssh, which blocks here").complains("nothing was imported");
    net.filterd(["test", "203.0.113.66"]).exits(1);
    let told = net.filterd_reading(["import", "-", "--json"], text).exits(7).json();
    assert_eq!(
        (&told["named"], &told["rejected"], &told["special"]),
        (&2.into(), &2.into(), &1.into()),
        "{told}"
    );
    assert_eq!((&told["configured"]["drop"], &told["refused"]["guard"]), (&1.into(), &1.into()), "{told}");
    net.filterd(["test", "203.0.113.66"]).succeeds().says("list `ssh`");
    net.filterd(["test", "10.1.2.3", "203.0.113.67"]).exits(1);
    net.filterd(["allow", "list"]).succeeds().says("203.0.113.68").is_silent_about("203.0.113.69");
    let words = net.filterd_reading(["import", "-", "--include-special", "--wide"], text).exits(7);
    words.complains("nonsense");
    net.filterd(["test", "10.1.2.3"]).succeeds();
}

#[test]
fn entries_with_different_notes_import_in_bulk() {
    let net = Net::with_filterd("");
    let head = "{\"version\":1,\"filterd\":\"export\"}\n";
    let row = |at: u32| {
        let (high, low) = (at / 256, at % 256);
        format!(
            "{{\"target\":\"198.18.{high}.{low}\",\"list\":\"ssh\",\"until\":{},\"note\":\"door {at}\"}}\n",
            4_000_000_000_u32
        )
    };
    let rows: String = (0..3000).map(row).collect();
    let far = net.filterd_reading(["import", "-"], &format!("{head}{rows}{{\"entries\":3000}}\n"));
    far.exits(2);
    let soon = rows.replace("\"until\":4000000000,", "");
    let text = format!("{head}{soon}{{\"entries\":3000}}\n");
    let told = net.filterd_reading(["import", "-", "--ttl", "1h", "--json"], &text).succeeds().json();
    assert_eq!((&told["changed"], &told["entered"]), (&3000.into(), &3000.into()), "{told}");
    net.filterd(["list", "--list", "ssh", "--within", "198.18.11.0/24"]).succeeds().says(": door 2999");
    let cut = net.filterd_reading(["import", "-"], &text.replace("{\"entries\":3000}\n", "")).exits(2);
    cut.complains("the export is incomplete");
}
