//! Who else blocks by address, as `filterd doctor` finds it in the kernel. Only here: guests have neither.

use harness::home::binary;
use harness::{ATTACKER, BYSTANDER, Namespace, Net, Reply};
use serde_json::json;

fn doctor(host: &Namespace) -> Reply {
    let mut command = host.command(&binary().display().to_string());
    Reply::of(command.args(["doctor", "--no-config", "--iface", "eth0", "--socket", "/nowhere/control.sock"]))
}

fn nft(host: &Namespace, words: &str) -> Reply {
    Reply::of(host.command("nft").args(words.split(' '))).succeeds()
}

#[test]
fn nftables_set_is_reported_with_import_command() {
    let net = Net::new();
    let host = net.host();
    doctor(host).succeeds().is_silent_about("nftables");
    nft(host, "add table inet filter");
    nft(host, "add set inet filter ports { type inet_service ; }");
    doctor(host).succeeds().is_silent_about("nftables");
    nft(host, "add set inet filter bad { type ipv4_addr ; }");
    nft(host, "add element inet filter bad { 203.0.113.7 }");
    let told =
        doctor(host).succeeds().says("warn  blocklists").says("table inet filter has sets of addresses: bad");
    told.says("-> nft -j list ruleset | filterd import - --only bad");
}

#[test]
fn reported_import_command_works() {
    let net = Net::with_filterd("");
    let host = net.host();
    nft(host, "add table inet filter");
    nft(host, "add set inet filter bad { type ipv4_addr ; }");
    nft(host, "add element inet filter bad { 203.0.113.7 }");
    let said = nft(host, "-j list ruleset").output;
    net.filterd_reading(["import", "-", "--only", "bad"], &said).succeeds();
    net.expect(harness::ATTACKER).dropped();
}

/// FAULTS W3-O1: a customer went from passing to dropped.
#[test]
fn import_does_not_block_an_accepted_set() {
    let net = Net::with_filterd("");
    let host = net.host();
    nft(host, "add table inet fw");
    nft(host, "add set inet fw customers { type ipv4_addr ; }");
    nft(host, "add element inet fw customers { 203.0.113.7 }");
    nft(host, "add set inet fw bad { type ipv4_addr ; }");
    nft(host, "add element inet fw bad { 198.51.100.7 }");
    nft(host, "add chain inet fw in");
    nft(host, "add rule inet fw in ip saddr @customers counter accept");
    nft(host, "add rule inet fw in ip saddr @bad drop");
    nft(host, "add set inet fw limited { type ipv4_addr ; }");
    nft(host, "add element inet fw limited { 192.0.2.7 }");
    nft(host, "add rule inet fw in ip saddr @limited limit rate over 10/second drop");
    let ruleset = nft(host, "-j list ruleset").output;
    net.filterd_reading(["import", "-", "--dry-run"], &ruleset).exits(7).complains("`customers`");
    net.expect_each([ATTACKER, BYSTANDER]).passes();
    net.filterd_reading(["import", "-"], &ruleset).exits(7).complains("--allow customers");
    net.expect(ATTACKER).passes();
    net.expect(BYSTANDER).dropped();
    net.expect("192.0.2.7").passes();
    let words = ["import", "-", "--allow", "customers", "--skip", "limited"];
    net.filterd_reading(words, &ruleset).succeeds();
    net.filterd(["add", "203.0.113.0/24"]).succeeds();
    net.expect(ATTACKER).passes();
    net.filterd(["allow", "remove", ATTACKER]).succeeds();
    net.expect(ATTACKER).dropped();
}

/// FAULTS W3-O2: what the set did not mean was blocked with the rest.
#[test]
fn import_keeps_the_exceptions_of_a_set() {
    let net = Net::with_filterd("");
    let host = net.host();
    let ipset = |words: &str| Reply::of(host.command("ipset").args(words.split(' '))).succeeds();
    ipset("create nets hash:net");
    ipset("add nets 203.0.113.0/28");
    ipset("add nets 203.0.113.7 nomatch");
    let saved = ipset("save").output;
    net.filterd_reading(["import", "-"], &saved).exits(7).complains("`nets`");
    net.expect_each([ATTACKER, "203.0.113.8"]).passes();
    net.filterd_reading(["import", "-", "--block", "nets"], &saved).succeeds();
    net.expect(ATTACKER).passes();
    net.expect_each(["203.0.113.0", "203.0.113.6", "203.0.113.8", "203.0.113.15"]).dropped();
    net.filterd_reading(["import", "-", "--block", "nets", "--json"], &saved)
        .succeeds()
        .has(json!({"changed": 0}));
}

/// FAULTS W3-O9: with `curl … | filterd import -` a download that failed looked like success.
#[test]
fn import_of_nothing_fails() {
    let net = Net::with_filterd("");
    for nothing in ["", "\n", "# a list\n", "create bad hash:ip\n", "{\"nftables\": []}"] {
        net.filterd_reading(["import", "-"], nothing).exits(2);
    }
}

#[test]
fn ipset_set_is_reported_with_its_size() {
    let net = Net::new();
    let host = net.host();
    let ipset = |words: &str| Reply::of(host.command("ipset").args(words.split(' '))).succeeds();
    ipset("create bans hash:ip");
    ipset("add bans 203.0.113.7");
    ipset("add bans 203.0.113.8");
    ipset("create doors bitmap:port range 1-100");
    let told = doctor(host).succeeds().says("warn  blocklists").is_silent_about("doors");
    told.says("ipset has sets of addresses: bans (2)").says("-> ipset save bans | filterd import -");
}
