//! What the kernel refuses in the middle of it all: no memory for a larger table, no grace periods. strace says it in the
//! kernel's place.

use harness::{ATTACKER, BYSTANDER, Net, Random, Refusal, keeper_of};

#[test]
fn table_that_cannot_grow_keeps_its_entries() {
    let mut net = Net::with_filterd("");
    net.filterd(["add", ATTACKER]).succeeds();
    let many: String = (0..8000).map(|host: u32| format!("10.0.{}.{}\n", host >> 8, host & 255)).collect();
    let refusal = Refusal::of(keeper_of(net.daemon().id()), "bpf:error=ENOMEM");
    net.filterd_reading(["add", "-"], &many).exits(8).complains("the kernel refused").complains("MemoryMax");
    net.wait_for_log("the kernel refused");
    net.expect(ATTACKER).dropped();
    net.expect("10.0.0.9").passes();
    assert_eq!(
        net.filterd(["list", "--json"]).succeeds().json_lines().len(),
        1,
        "nothing else was acknowledged"
    );
    net.filterd(["add", BYSTANDER]).succeeds();
    net.expect(BYSTANDER).dropped();
    refusal.end();
    net.filterd_reading(["add", "-"], &many).succeeds();
    net.expect_each([ATTACKER, BYSTANDER, "10.0.0.9"]).dropped();
}

#[test]
fn without_grace_periods_full_tables_are_rebuilt() {
    let mut net = Net::with_filterd("");
    let refusal = Refusal::of(net.daemon().id(), "membarrier:error=EINVAL");
    let addresses = Random(11).addresses(89_000);
    let lines: String = addresses.iter().map(|address| format!("{address}\n")).collect();
    net.filterd_reading(["add", "-"], &lines).succeeds();
    net.wait_for_log("the kernel gives no grace periods");
    let passed = net.send_from(&addresses[..2000]);
    assert!(passed.is_empty(), "{} of 2000 passed", passed.len());
    net.expect(BYSTANDER).passes();
    let status = net.filterd(["status", "--json"]).succeeds().json();
    assert_eq!(status["tables"][0]["entries"], 89_000);
    refusal.end();
}
