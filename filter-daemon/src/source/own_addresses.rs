//! Lists this host's addresses as the kernel knows them now.

use std::net::IpAddr;

use nix::ifaddrs::getifaddrs;
use nix::sys::socket::SockaddrStorage;

/// All addresses in no particular order. Empty if the kernel does not report them.
pub fn own_addresses() -> Vec<IpAddr> {
    let Ok(interfaces) = getifaddrs() else { return Vec::new() };
    interfaces.filter_map(|interface| address_of(&interface.address?)).collect()
}

fn address_of(address: &SockaddrStorage) -> Option<IpAddr> {
    let v4 = address.as_sockaddr_in().map(|address| address.ip().into());
    v4.or_else(|| address.as_sockaddr_in6().map(|address| address.ip().into()))
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn loopback_is_an_own_address() {
        assert!(own_addresses().contains(&Ipv4Addr::LOCALHOST.into()), "{:?}", own_addresses());
    }
}
