//! Name servers from files in the format of resolv.conf(5).

use super::{HostRole, ProtectedAddress, plain};

/// The name servers in the text of such a file.
pub fn facts(text: &str) -> impl Iterator<Item = ProtectedAddress> + '_ {
    let words = text.lines().filter_map(|line| line.trim_start().strip_prefix("nameserver"));
    let words =
        words.filter_map(|rest| rest.starts_with([' ', '\t']).then(|| rest.split_whitespace().next())?);
    // A link-local address is followed by its interface.
    let addresses = words.filter_map(|word| word.split('%').next()?.parse().ok());
    addresses.map(|address| ProtectedAddress { address: plain(address), what: HostRole::NameServer })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_servers_are_found_among_everything_else() {
        let text = "# nameserver 192.0.2.9\nsearch example.org\n nameserver\t192.0.2.1 # ours\nnameserver fe80::1%eth0\n\
                    nameservers 192.0.2.2\nnameserver\nnameserver nobody\nnameserver 2001:db8::53";
        let found: Vec<_> = facts(text).map(|fact| fact.address.to_string()).collect();
        assert_eq!(found, ["192.0.2.1", "fe80::1", "2001:db8::53"]);
    }
}
