//! What the kernel refuses in the middle of it all: no memory for a larger table, no grace periods. strace says it in the
//! kernel's place.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use harness::{ATTACKER, BYSTANDER, Net, Random};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

#[test]
fn a_table_that_cannot_grow_keeps_what_it_has_and_says_so() {
    let net = Net::with_filterd("");
    net.filterd(["add", ATTACKER]).succeeds();
    let many: String = (0..8000).map(|host: u32| format!("10.0.{}.{}\n", host >> 8, host & 255)).collect();
    let refusal = Refusal::of(keeper_of(net.daemon().id()), "bpf:error=ENOMEM");
    net.filterd_reading(["add", "-"], &many).exits(8).complains("the kernel gives no").complains("MemoryMax");
    assert!(net.daemon().log().contains("the kernel gives no"), "{}", net.daemon().log());
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
fn without_grace_periods_crowded_tables_are_built_anew() {
    let net = Net::with_filterd("");
    let refusal = Refusal::of(net.daemon().id(), "membarrier:error=EINVAL");
    let addresses = Random(11).addresses(89_000);
    let lines: String = addresses.iter().map(|address| format!("{address}\n")).collect();
    net.filterd_reading(["add", "-"], &lines).succeeds();
    assert!(net.daemon().log().contains("the kernel gives no grace periods"), "{}", net.daemon().log());
    let passed = net.send_from(&addresses[..2000]);
    assert!(passed.is_empty(), "{} of 2000 passed", passed.len());
    net.expect(BYSTANDER).passes();
    let status = net.filterd(["status", "--json"]).succeeds().json();
    assert_eq!(status["tables"][0]["entries"], 89_000);
    refusal.end();
}

/// A process of which the kernel refuses a call.
struct Refusal(Child);

impl Refusal {
    fn of(process: u32, injection: &str) -> Self {
        let call = injection.split(':').next().expect("it begins with a call");
        let mut strace = Command::new("strace");
        strace.args(["-f", "-qqq", "-o", "/dev/null", "-e", &format!("trace={call}")]);
        strace.args(["-e", &format!("inject={injection}"), "-p", &process.to_string()]);
        let strace = strace.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        wait_until("strace takes hold", || !status(process, "TracerPid").starts_with('0'));
        Self(strace.expect("strace can be run"))
    }

    fn end(mut self) {
        let id = i32::try_from(self.0.id()).expect("process ids are small");
        kill(Pid::from_raw(id), Signal::SIGINT).expect("it is our child");
        self.0.wait().expect("it is our child");
    }
}

impl Drop for Refusal {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn keeper_of(daemon: u32) -> u32 {
    let children = fs::read_to_string(format!("/proc/{daemon}/task/{daemon}/children")).expect("it runs");
    children.trim().parse().expect("it has one child")
}

fn status(process: u32, name: &str) -> String {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("it runs");
    let value = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    value.expect("it is told").trim().to_owned()
}

#[track_caller]
fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(30), "{what}: not within 30 s");
        sleep(Duration::from_millis(2));
    }
}
