//! What this host needs while filterd runs: addresses of its own come and go, and users log in from afar and leave. Whatever
//! is blocked, their packets pass.

use std::net::IpAddr;
use std::thread;
use std::time::{Duration, Instant};

use super::Life;
use super::asking::Term;
use super::batch::Batch;
use super::prefix::{Prefix, ip};
use super::wanted::Lease;

/// So many are needed at once, beside those that every story's host needs.
const MOST: usize = 6;

/// Sessions are looked at every five seconds, addresses twice a second; machines are slow.
const SOON: Duration = Duration::from_secs(60);

/// One that is needed for a while.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Needed {
    address: IpAddr,
    /// A user comes from there, rather than that it is an own address.
    is_session: bool,
}

impl Life {
    pub(super) fn need_or_not(&mut self) -> Vec<Prefix> {
        let is_full = self.needed.len() >= MOST || (!self.needed.is_empty() && self.random.below(3) == 0);
        let touched = if is_full { self.need_no_longer() } else { self.need() };
        touched.into_iter().collect()
    }

    fn need(&mut self) -> Option<Prefix> {
        let needed = self.somebody()?;
        let Needed { address, is_session } = needed;
        let why = if is_session { "a user comes from there" } else { "an own address" };
        self.note(format!("{address} is needed: {why}"));
        self.is_needed(needed, true);
        if is_session {
            // Whoever would cut it off looks first, so nobody has to wait.
            self.needs(needed);
            let batch = Batch::of(vec![Prefix::of(address)], "target, which is needed since just now");
            self.add_batch("manual", &batch, Term::PERMANENT);
        } else {
            self.wait_until_guarded(address, true);
            self.needs(needed);
        }
        Some(Prefix::of(address))
    }

    /// While no filterd runs: the next one knows it from its first packet on.
    pub(super) fn need_while_away(&mut self) -> Option<String> {
        let needed = self.somebody().filter(|_| self.needed.len() < MOST)?;
        self.is_needed(needed, true);
        self.needs(needed);
        Some(format!("{} is needed", needed.address))
    }

    fn need_no_longer(&mut self) -> Option<Prefix> {
        let needed = self.needed.swap_remove(self.random.below(self.needed.len()));
        self.note(format!("{} is needed no longer", needed.address));
        self.is_needed(needed, false);
        self.wait_until_guarded(needed.address, false);
        let target = Prefix::of(needed.address);
        self.reference.guarded.remove(target);
        Some(target)
    }

    fn needs(&mut self, needed: Needed) {
        self.needed.push(needed);
        self.reference.guarded.add(Prefix::of(needed.address), Lease::PERMANENT);
    }

    /// Mostly one that is blocked, or is in what is blocked.
    fn somebody(&mut self) -> Option<Needed> {
        let target = self.world.relatives(&mut self.random, 1).into_iter().next()?;
        let (is_session, address) = (self.random.below(3) == 0, ip(target.is_six, target.first));
        let is_new = !self.reference.guards(Prefix::of(address));
        (is_new && is_usual(address)).then_some(Needed { address, is_session })
    }

    fn is_needed(&self, Needed { address, is_session }: Needed, is_so: bool) {
        let user = format!("u{address}").replace([':', '.'], "-");
        match (is_session, is_so) {
            (true, true) => self.run.login(&user, &address.to_string()),
            (true, false) => self.run.logout(&user),
            (false, _) => {
                let verb = if is_so { "add" } else { "del" };
                let rest = if address.is_ipv4() { "/32 dev eth0" } else { "/128 dev eth0 nodad" };
                self.net.host().ip(&format!("addr {verb} {address}{rest}"));
            }
        }
    }

    fn wait_until_guarded(&self, address: IpAddr, is_so: bool) {
        let (begun, word) = (Instant::now(), address.to_string());
        loop {
            let told = self.net.filterd(["allow", "list", "--list", "guard"]);
            let is_there = told.output.lines().any(|line| line.split_whitespace().next() == Some(&word));
            if is_there == is_so {
                return;
            }
            assert!(begun.elapsed() < SOON, "{address} should be guarded: {is_so}, but {told}");
            thread::sleep(Duration::from_millis(20));
        }
    }
}

/// May a host have it, and may others reach it?
pub fn is_usual(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => (1..=223).contains(&address.octets()[0]) && address.octets()[0] != 127,
        IpAddr::V6(address) => address.segments()[0] >> 13 == 1,
    }
}
