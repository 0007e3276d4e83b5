//! SIGKILL at any moment, under load: whatever was acknowledged is there again, nothing is there twice, and the filter never
//! stops filtering.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use harness::{ATTACKER, BYSTANDER, Net, Random, Traffic};
use nix::sys::signal::Signal;

use crate::population::{Inhabitant, listed};
use crate::rounds;

const BLOCKING: &str = "block: [203.0.113.7]";

#[test]
fn kill() {
    let count = rounds(15, 2000);
    let mut net = Net::with_filterd(BLOCKING);
    let mut random = Random(7);
    let mut inhabitants: Vec<Inhabitant> = (0..3).map(Inhabitant::new).collect();
    let done = AtomicUsize::new(0);
    let traffic = Traffic::begin(net.host(), net.peer(), ATTACKER, BYSTANDER);
    for _ in 0..count {
        let socket = net.home().socket();
        let live = Duration::from_micros(random.number() % 150_000);
        thread::scope(|scope| {
            for inhabitant in &mut inhabitants {
                scope.spawn(|| done.fetch_add(inhabitant.live(&socket, usize::MAX), Ordering::Relaxed));
            }
            thread::sleep(live);
            net.end(Signal::SIGKILL);
        });
        net.start(BLOCKING);
        let listed = listed(&net);
        inhabitants.iter_mut().for_each(|inhabitant| inhabitant.compare(&listed));
    }
    let fate = traffic.end().is_flawless();
    // The control: an entry that was acknowledged and is then taken out behind the inhabitants' backs must be missed.
    let victim = *inhabitants[0].blocked.first().expect("it has blocked something");
    net.filterd(["remove", &std::net::Ipv4Addr::from_bits(victim).to_string()]).succeeds();
    let listed = listed(&net);
    assert!(inhabitants[0].objection(&listed).is_some(), "nobody misses {victim}");
    println!(
        "{count} kills among {} acknowledged adds and removes: none lost, none made up, none twice; 0 of {} listed frames passed",
        done.into_inner(),
        fate.sent
    );
}
