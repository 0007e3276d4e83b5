//! Accepts connections, within limits of time and number.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::pending;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use hyper::body::Body;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use nix::sys::socket::{setsockopt, sockopt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::yield_now;
use tokio::time::sleep;
use tracing::{info, warn};

use super::callers::{Callers, Offer};
use super::routes::Routes;
use crate::clock;
use crate::config::Metrics;
use crate::control::Call;
use crate::control::connections::Connection;
use crate::control::wire::{About, Fault};
use crate::text::Explanation;

/// The kernel's queue of unaccepted connections for each address.
const WAITING_TO_BE_LET_IN: u32 = 1024;

/// How long a caller may take to send its request.
const PATIENCE: Duration = Duration::from_secs(2);

/// How many milliseconds a caller may read nothing of the response. Then the kernel closes the connection.
const DEAF: u32 = 10_000;

/// The most unread bytes of a response that wait in the kernel.
const WAITING: usize = 64 * 1024;

/// The most bytes of a request.
const REQUEST: usize = 16 * 1024;

/// The interval of the first attempts to listen at an address in use, which together take a second at most.
const SOON: Duration = Duration::from_millis(20);
const SOON_TRIES: u32 = 50;

/// The interval of later attempts.
const AGAIN: Duration = Duration::from_secs(1);

/// The fault of each address where filterd cannot listen.
pub type Faults = BTreeMap<SocketAddr, Fault>;

/// Listens at the wanted addresses, and follows their changes.
pub async fn serve(
    mut wanted: watch::Receiver<Metrics>,
    faults: watch::Sender<Faults>,
    calls: mpsc::Sender<Call>,
) {
    loop {
        let metrics = wanted.borrow_and_update().clone();
        tokio::select! {
            () = listen(metrics, &faults, &calls) => {}
            changed = wanted.changed() => if changed.is_err() { return },
        }
    }
}

/// Listens until it is dropped, which closes all connections.
async fn listen(metrics: Metrics, faults: &watch::Sender<Faults>, calls: &mpsc::Sender<Call>) {
    faults.send_replace(Faults::default());
    for warning in metrics.warnings() {
        warn!("{warning}");
    }
    let routes = Arc::new(Routes::new(metrics.hosts, calls.clone()));
    let callers = Mutex::new(Callers::new());
    let each = metrics.listen.iter().map(|address| {
        let is_beside = |other: &SocketAddr| other.is_ipv4() && other.port() == address.port();
        let reach =
            if metrics.listen.iter().any(is_beside) { SocketFamilies::Own } else { SocketFamilies::Whole };
        listen_at(*address, reach, faults, &routes, &callers)
    });
    join_all(each).await;
    // There may be no address to listen at.
    pending().await
}

/// Listens at one address. All addresses share the limits of connections.
async fn listen_at(
    address: SocketAddr,
    reach: SocketFamilies,
    faults: &watch::Sender<Faults>,
    routes: &Arc<Routes>,
    callers: &Mutex<Callers>,
) {
    let listener = bound(address, reach, faults).await;
    info!("status page at http://{address}/");
    loop {
        match listener.accept().await {
            Ok((stream, from)) => {
                let session = |connection, offer| converse(stream, connection, offer, routes.clone());
                callers.lock().unwrap_or_else(PoisonError::into_inner).admit(from.ip(), session);
                // A request that came with the connection is read before the next caller can evict it.
                yield_now().await;
            }
            // Descriptors or memory are exhausted until other connections end.
            Err(_) => sleep(AGAIN).await,
        }
    }
}

/// Tries until it succeeds, because an address may appear later and an earlier filterd may end later. The
/// filterd that this one replaces ends at once, so a port in use is reported only after a while.
async fn bound(address: SocketAddr, reach: SocketFamilies, faults: &watch::Sender<Faults>) -> TcpListener {
    let mut left = SOON_TRIES;
    loop {
        match bind(address, reach) {
            Ok(listener) => {
                faults.send_if_modified(|faults| faults.remove(&address).is_some());
                return listener;
            }
            Err(error) if left > 0 && error.kind() == io::ErrorKind::AddrInUse => {
                left -= 1;
                sleep(SOON).await;
                continue;
            }
            Err(error) => faults.send_if_modified(|faults| {
                let is_new = !faults.contains_key(&address);
                faults.entry(address).or_insert_with(|| not_listening(address, &error));
                is_new
            }),
        };
        sleep(AGAIN).await;
    }
}

/// The connections that a socket at `[::]` accepts.
#[derive(Clone, Copy)]
enum SocketFamilies {
    /// IPv6 and IPv4, which is the kernel's default.
    Whole,
    /// IPv6 only, because 0.0.0.0 with the same port has a socket of its own.
    Own,
}

fn bind(address: SocketAddr, reach: SocketFamilies) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // Connections that have just ended do not block the address.
    socket.set_reuseaddr(true)?;
    if let (SocketFamilies::Own, SocketAddr::V6(_)) = (reach, address) {
        setsockopt(&socket, sockopt::Ipv6V6Only, &true)?;
    }
    socket.bind(address)?;
    socket.listen(WAITING_TO_BE_LET_IN)
}

fn not_listening(address: SocketAddr, error: &io::Error) -> Fault {
    let is = |kind| error.kind() == kind;
    let remedy = if is(io::ErrorKind::AddrInUse) {
        format!(
            "stop the process that does (see `ss -ltnp sport = :{}`), or configure another port",
            address.port()
        )
    } else if is(io::ErrorKind::AddrNotAvailable) {
        "see which addresses exist: ip address\nfilterd retries every second".to_owned()
    } else if is(io::ErrorKind::PermissionDenied) {
        "filterd has no capabilities: configure a port from 1024 on".to_owned()
    } else {
        "filterd retries every second".to_owned()
    };
    let told = Explanation::new(format!("cannot listen at `metrics.listen`, {address}: {error}"), remedy);
    warn!("{told}");
    Fault { about: About::Configuration, since: clock::on_the_wall(clock::now()), told, id: None }
}

/// Serves one request. A caller that closes the connection early is no error.
async fn converse(stream: TcpStream, connection: Connection, offer: Offer, routes: Arc<Routes>) {
    _ = setsockopt(&stream, sockopt::TcpUserTimeout, &DEAF);
    _ = setsockopt(&stream, sockopt::SndBuf, &WAITING);
    let service = service_fn(|request| {
        let (routes, connection) = (routes.clone(), connection.clone());
        async move {
            connection.works();
            let answer = routes.answer(&request, offer).await;
            // A stream never ends and there are few, so it keeps its connection.
            if answer.body().size_hint().exact().is_some() {
                connection.waits();
            }
            Ok::<_, Infallible>(answer)
        }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(PATIENCE).max_buf_size(REQUEST).keep_alive(false);
    _ = http.serve_connection(TokioIo::new(stream), service).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An address where another socket listens.
    fn taken() -> (std::net::TcpListener, SocketAddr) {
        let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = other.local_addr().unwrap();
        (other, address)
    }

    #[tokio::test(start_paused = true)]
    async fn briefly_used_port_is_no_fault() {
        let ((other, address), (faults, told)) = (taken(), watch::channel(Faults::default()));
        // The other socket closes after the first attempt.
        let (listener, ()) =
            tokio::join!(bound(address, SocketFamilies::Whole, &faults), async { drop(other) });
        assert_eq!(listener.local_addr().unwrap(), address);
        assert!(!told.has_changed().unwrap());
    }

    #[tokio::test(start_paused = true)]
    async fn used_port_is_a_fault_until_free() {
        let ((other, address), (faults, mut told)) = (taken(), watch::channel(Faults::default()));
        let goes = async {
            told.changed().await.unwrap();
            assert!(told.borrow_and_update()[&address].told.message.contains("cannot listen"));
            drop(other);
        };
        tokio::join!(bound(address, SocketFamilies::Whole, &faults), goes);
        assert_eq!(told.borrow().len(), 0);
    }

    #[tokio::test]
    async fn all_of_both_families_go_together() {
        let (faults, _) = watch::channel(Faults::default());
        let four = bound("0.0.0.0:0".parse().unwrap(), SocketFamilies::Own, &faults).await;
        let port = four.local_addr().unwrap().port();
        let six = SocketAddr::new("::".parse().unwrap(), port);
        assert!(bind(six, SocketFamilies::Own).is_ok());
        assert!(bind(six, SocketFamilies::Whole).is_err(), "the kernel's [::] is 0.0.0.0, too");
    }
}
