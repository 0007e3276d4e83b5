//! What a story expects of a frame, said as a sentence: `net.expect(ATTACKER).dropped()`.

use std::thread;
use std::time::{Duration, Instant};

use crate::{Frame, Net};

/// Frames, the link they take, and the net they travel through.
#[derive(Debug)]
pub struct Expectation<'net> {
    net: &'net Net,
    frames: Vec<Frame>,
    link: usize,
    within: Duration,
}

impl<'net> Expectation<'net> {
    /// About these frames on `eth0`.
    pub fn new(net: &'net Net, frames: Vec<Frame>) -> Self {
        Self { net, frames, link: 0, within: Duration::ZERO }
    }

    /// Over this interface rather than `eth0`.
    pub fn on(mut self, interface: &str) -> Self {
        self.link = link_number(interface);
        self
    }

    /// What comes next may take so long to become true.
    pub fn then_within(mut self, time: Duration) -> Self {
        self.within = time;
        self
    }

    /// The very next such frame does not reach the host.
    #[track_caller]
    pub fn dropped(self) -> Self {
        let passed = self.exceptions(false);
        assert!(
            passed.is_empty(),
            "on eth{} this passed and should be dropped: {}",
            self.link,
            passed.join(", ")
        );
        self
    }

    /// The very next such frame reaches the host.
    #[track_caller]
    pub fn passes(self) -> Self {
        let dropped = self.exceptions(true);
        assert!(
            dropped.is_empty(),
            "on eth{} this was dropped and should pass: {}",
            self.link,
            dropped.join(", ")
        );
        self
    }

    /// Which frames did otherwise? Asks once, or again and again while there is time.
    fn exceptions(&self, should_arrive: bool) -> Vec<String> {
        let begun = Instant::now();
        loop {
            let arrived = self.net.arrivals(self.link, &self.frames);
            let wrong = self.frames.iter().zip(arrived).filter(|(_, arrived)| *arrived != should_arrive);
            let wrong: Vec<String> = wrong.map(|(frame, _)| frame.to_string()).collect();
            if wrong.is_empty() || begun.elapsed() >= self.within {
                return wrong;
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
}

/// The number of the link that `eth0`, `eth1`, … is an end of.
fn link_number(interface: &str) -> usize {
    let number = interface.strip_prefix("eth").and_then(|number| number.parse().ok());
    number.unwrap_or_else(|| panic!("links are called eth0, eth1, …, not {interface}"))
}
