//! The addresses and gateways of this host, from the kernel.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;

use futures_util::{StreamExt, TryStreamExt};
use rtnetlink::packet_route::address::AddressAttribute;
use rtnetlink::packet_route::link::LinkAttribute;
use rtnetlink::packet_route::route::{RouteAddress, RouteAttribute, RouteMessage, RouteVia};
use rtnetlink::{Handle, MulticastGroup, RouteMessageBuilder};
use tokio::sync::mpsc;

use super::{HostRole, ProtectedAddress, plain};

/// The most routes that are read. An internet router has a million of them and needs none of this; default
/// routes, if any, come first.
const MOST_ROUTES: usize = 10_000;

/// All facts in the network namespace of this process.
pub async fn facts() -> Result<Vec<ProtectedAddress>, rtnetlink::Error> {
    let (connection, handle, _) =
        rtnetlink::new_connection().map_err(|error| rtnetlink::Error::NamespaceError(error.to_string()))?;
    let talking = tokio::spawn(connection);
    let found = ask(&handle).await;
    talking.abort();
    found
}

/// Reports when an address or a route was added, removed or changed. Consecutive changes may be reported as
/// one.
pub fn changes() -> io::Result<mpsc::Receiver<()>> {
    let groups = [
        MulticastGroup::Ipv4Ifaddr,
        MulticastGroup::Ipv6Ifaddr,
        MulticastGroup::Ipv4Route,
        MulticastGroup::Ipv6Route,
    ];
    let (connection, _, mut messages) = rtnetlink::new_multicast_connection(&groups)?;
    let (tell, told) = mpsc::channel(1);
    tokio::spawn(connection);
    tokio::spawn(async move {
        // Any message, even one about lost messages, means to look again.
        while messages.next().await.is_some() {
            // A report that is still unread also stands for this one.
            _ = tell.try_send(());
        }
    });
    Ok(told)
}

async fn ask(handle: &Handle) -> Result<Vec<ProtectedAddress>, rtnetlink::Error> {
    let mut facts = own(handle).await?;
    for any in [
        RouteMessageBuilder::<std::net::Ipv4Addr>::new().build(),
        RouteMessageBuilder::<std::net::Ipv6Addr>::new().build(),
    ] {
        let mut routes = handle.route().get(any).execute().take(MOST_ROUTES);
        while let Some(route) = routes.try_next().await? {
            let found = gateways(&route).into_iter();
            facts.extend(
                found.map(|address| ProtectedAddress { address: plain(address), what: HostRole::Gateway }),
            );
        }
    }
    facts.sort();
    facts.dedup();
    Ok(facts)
}

async fn own(handle: &Handle) -> Result<Vec<ProtectedAddress>, rtnetlink::Error> {
    let mut names = HashMap::new();
    let mut links = handle.link().get().execute();
    while let Some(link) = links.try_next().await? {
        for attribute in link.attributes {
            if let LinkAttribute::IfName(name) = attribute {
                names.insert(link.header.index, name);
            }
        }
    }
    let mut facts = Vec::new();
    let mut addresses = handle.address().get().execute();
    while let Some(message) = addresses.try_next().await? {
        let name = names.get(&message.header.index).cloned().unwrap_or_default();
        let (mut local, mut other) = (None, None);
        for attribute in &message.attributes {
            if let AddressAttribute::Local(address) = attribute {
                local = Some(*address);
            }
            if let AddressAttribute::Address(address) = attribute {
                other = Some(*address);
            }
        }
        // On a point-to-point link, the second address is that of the other end.
        let own = local.or(other).into_iter();
        facts.extend(
            own.map(|address| ProtectedAddress {
                address: plain(address),
                what: HostRole::Own(name.clone()),
            }),
        );
    }
    Ok(facts)
}

/// The gateways of this route; there may be several.
fn gateways(route: &RouteMessage) -> Vec<IpAddr> {
    let mut all: Vec<_> = route.attributes.iter().filter_map(gateway).collect();
    for attribute in &route.attributes {
        if let RouteAttribute::MultiPath(hops) = attribute {
            all.extend(hops.iter().flat_map(|hop| hop.attributes.iter()).filter_map(gateway));
        }
    }
    all
}

fn gateway(attribute: &RouteAttribute) -> Option<IpAddr> {
    let address: IpAddr = if let RouteAttribute::Gateway(RouteAddress::Inet(address)) = attribute {
        (*address).into()
    } else if let RouteAttribute::Gateway(RouteAddress::Inet6(address)) = attribute {
        (*address).into()
    } else if let RouteAttribute::Via(RouteVia::Inet(address)) = attribute {
        (*address).into()
    } else if let RouteAttribute::Via(RouteVia::Inet6(address)) = attribute {
        (*address).into()
    } else {
        return None;
    };
    Some(address)
}
