//! Whatever ways there are to say it, an address stands in the tables once.

use harness::{BYSTANDER, Net};

const PREFIX: &str = "block: [10.1.0.0/25]";

#[test]
fn alternating_reloads_leave_each_address_once() {
    let net = Net::with_filterd(PREFIX);
    let addresses: Vec<_> = (0..128).map(|host| format!("10.1.0.{host}")).collect();
    let each = format!("block: [{}]", addresses.join(", "));
    for config in [&each, PREFIX].into_iter().cycle().take(6) {
        net.configure(config);
        net.filterd(["reload"]).succeeds();
        assert_eq!(entries(&net), 128);
    }
    net.expect_each(addresses.iter().map(String::as_str)).dropped();
    net.configure("block: []");
    net.filterd(["reload"]).succeeds();
    assert_eq!(entries(&net), 0);
    net.expect_each(["10.1.0.0", "10.1.0.127", BYSTANDER]).passes();
}

#[test]
fn prefix_and_contained_address_count_once() {
    for order in [["10.1.0.0/25", "10.1.0.9"], ["10.1.0.9", "10.1.0.0/25"]] {
        let net = Net::with_filterd("");
        net.filterd(["add", order[0]]).succeeds();
        net.filterd(["add", order[1], "--list", "other"]).succeeds();
        assert_eq!(entries(&net), 128);
        net.filterd(["remove", order[0], "--list", "manual"]);
        net.expect("10.1.0.9").dropped();
        net.filterd(["remove", order[1], "--list", "other"]);
        assert_eq!(entries(&net), 0);
        net.expect("10.1.0.9").passes();
    }
}

fn entries(net: &Net) -> u64 {
    let status = net.filterd(["status", "--json"]).succeeds().json();
    status["tables"][0]["entries"].as_u64().expect("entries are counted")
}
