//! For which list a packet is to be counted: of what covers its source, the first that the lookup meets; and of the lists that
//! want just that, the first in order.

use super::packets::Packet;
use super::ports::Ports;
use super::prefix::Prefix;
use super::reference::Reference;
use super::wanted::{During, Lease};

/// For whom a packet may count.
#[derive(Debug, Default)]
pub struct Attribution<'a> {
    /// One of these.
    pub names: Vec<&'a str>,
    /// It is listed all that time, so that it surely counts for one of them.
    pub is_listed: bool,
}

impl Reference {
    /// For whom such a packet counts, where lists stand in this order.
    pub fn attribution<'a>(&'a self, packet: Packet, during: During, order: &[String]) -> Attribution<'a> {
        let (source, sent) = packet;
        let is_listed = match self.is_listed(packet, during) {
            Some(false) => return Attribution::default(),
            is_listed => is_listed == Some(true),
        };
        let rank = |name: &str| order.iter().position(|other| other == name).unwrap_or(usize::MAX);
        let mut met: Vec<((u8, u8, usize), &str, Lease)> = Vec::new();
        let (on_all, on_some): (Vec<_>, Vec<_>) =
            self.lists().partition(|(_, wanted)| wanted.ports == Ports::All);
        for (name, wanted) in on_all {
            met.extend(wanted.covering(source).map(|(effect, lease)| {
                let (stage, turn) = turn_of(effect);
                ((stage, turn, rank(name)), name.as_str(), lease)
            }));
        }
        met.sort_by_key(|(turn, ..)| *turn);
        let mut names = Vec::new();
        for (_, name, lease) in met {
            match lease.holds(during) {
                Some(false) => {}
                held => {
                    names.push(name);
                    if held == Some(true) {
                        names.dedup();
                        return Attribution { names, is_listed };
                    }
                }
            }
        }
        // Where nobody blocks it on all ports, those are asked that block on some, in an order that is not told.
        for (name, wanted) in on_some.into_iter().filter(|(_, wanted)| wanted.ports.want(sent)) {
            if wanted.covering(source).any(|(_, lease)| lease.holds(during) != Some(false)) {
                names.push(name);
            }
        }
        names.dedup();
        Attribution { names, is_listed }
    }
}

/// When a prefix is met by a lookup that finds it, as docs/internals/labels.md says.
fn turn_of(prefix: Prefix) -> (u8, u8) {
    let Prefix { is_six, length, .. } = prefix;
    let narrowest_first = 128 - length;
    match (is_six, length) {
        (false, 0..=24) => (0, narrowest_first),
        (false, _) => (1, narrowest_first),
        (true, 0..=16) => (0, narrowest_first),
        (true, 17..=24) => (1, narrowest_first),
        (true, 25..=32) => (2, narrowest_first),
        (true, 64) => (3, 0),
        (true, 33..=63) => (4, narrowest_first),
        (true, _) => (5, length),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::packets::USUAL;
    use super::super::wanted::Wanted;
    use super::*;

    const NOW: During = During(1.0, 2.0);

    fn counted(reference: &Reference, source: &str) -> (Vec<String>, bool) {
        let order = ["config", "drop", "spam", "ssh"].map(str::to_owned);
        let told = reference.attribution((source.parse().expect("it is an address"), USUAL), NOW, &order);
        (told.names.into_iter().map(str::to_owned).collect(), told.is_listed)
    }

    fn prefix(address: &str, length: u8) -> Prefix {
        let host = Prefix::of(address.parse().expect("it is an address"));
        Prefix::around(host.is_six, host.first, length)
    }

    #[test]
    fn first_list_of_first_match_counts() {
        let mut reference = Reference::new();
        let (wide, narrow) = (prefix("203.0.113.0", 24), prefix("203.0.113.7", 32));
        reference.configured.blocked.insert("spam".to_owned(), Wanted::all(&[wide, narrow]));
        reference.configured.blocked.insert("drop".to_owned(), Wanted::all(&[narrow]));
        assert_eq!(counted(&reference, "203.0.113.7"), (vec!["spam".to_owned()], true));
        reference.configured.blocked.insert("spam".to_owned(), Wanted::all(&[narrow]));
        assert_eq!(counted(&reference, "203.0.113.7"), (vec!["drop".to_owned()], true));
        assert_eq!(counted(&reference, "203.0.113.8"), (vec![], false));
        reference.live_mut("ssh").add(prefix("2001:db8::", 48), Lease::PERMANENT);
        reference.configured.blocked.insert("spam".to_owned(), Wanted::all(&[prefix("2001:db8::", 64)]));
        assert_eq!(counted(&reference, "2001:db8::1").0, ["spam"]);
        assert_eq!(counted(&reference, "2001:db8:0:1::1").0, ["ssh"]);
    }

    #[test]
    fn either_list_may_count_near_an_expiry() {
        let mut reference = Reference::new();
        let address = prefix("203.0.113.7", 32);
        reference.configured.blocked.insert("drop".to_owned(), Wanted::default());
        reference.live_mut("ssh").add(address, Lease::PERMANENT);
        let ending = Lease::of(During(0.0, 1.0), Some(Duration::from_secs(1)));
        reference.configured.blocked.get_mut("drop").expect("it is there").add(address, ending);
        assert_eq!(counted(&reference, "203.0.113.7").0, ["drop", "ssh"]);
    }
}
