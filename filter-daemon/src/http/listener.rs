//! Lets callers in, and keeps each within limits of time and number.

use std::convert::Infallible;
use std::future::pending;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use nix::sys::socket::{setsockopt, sockopt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::sleep;
use tracing::{info, warn};

use super::routes::Routes;
use crate::clock;
use crate::config::Metrics;
use crate::control::Call;
use crate::control::wire::{About, Fault};
use crate::text::Explanation;

/// So many connections at once: each may hold a request and an answer. Whoever comes beyond that waits to be let in.
const CONNECTIONS: usize = 64;

/// For so long a caller may take for his request,
const PATIENCE: Duration = Duration::from_secs(10);

/// and for so many milliseconds he may take nothing of what is sent to him. Then the kernel closes his connection.
const DEAF: u32 = 10_000;

/// Of what he has not taken, so many bytes wait in the kernel.
const WAITING: usize = 64 * 1024;

/// A request has no more bytes.
const REQUEST: usize = 16 * 1024;

/// So often it is tried to listen where that does not go.
const AGAIN: Duration = Duration::from_secs(1);

/// Listens where it is wanted, wherever that is by and by.
pub async fn serve(
    mut wanted: watch::Receiver<Metrics>,
    fault: watch::Sender<Option<Fault>>,
    calls: mpsc::Sender<Call>,
) {
    loop {
        let metrics = wanted.borrow_and_update().clone();
        tokio::select! {
            () = listen(metrics, &fault, &calls) => {}
            changed = wanted.changed() => if changed.is_err() { return },
        }
    }
}

/// Until it is dropped; then all connections close.
async fn listen(metrics: Metrics, fault: &watch::Sender<Option<Fault>>, calls: &mpsc::Sender<Call>) {
    fault.send_replace(None);
    let Some(address) = metrics.listen else { return pending().await };
    let listener = bind(address, fault).await;
    info!("http://{address}/ shows what filterd does");
    if !address.ip().is_loopback() {
        warn!("http://{address}/ is to be seen by whoever reaches that address: nobody is asked who he is");
    }
    let routes = Arc::new(Routes::new(metrics.hosts, calls.clone()));
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        let place = room.clone().acquire_owned().await.expect("nobody closes it");
        match listener.accept().await {
            Ok((stream, _)) => _ = connections.spawn(converse(stream, place, routes.clone())),
            // Out of descriptors or memory: some come free when others leave.
            Err(_) => sleep(AGAIN).await,
        }
        while connections.try_join_next().is_some() {}
    }
}

/// Tries until it goes: an address may come later, and an earlier filterd go later.
async fn bind(address: SocketAddr, fault: &watch::Sender<Option<Fault>>) -> TcpListener {
    loop {
        match TcpListener::bind(address).await {
            Ok(listener) => {
                fault.send_replace(None);
                return listener;
            }
            Err(error) => fault.send_if_modified(|fault| {
                let is_new = fault.is_none();
                fault.get_or_insert_with(|| not_listening(address, &error));
                is_new
            }),
        };
        sleep(AGAIN).await;
    }
}

fn not_listening(address: SocketAddr, error: &io::Error) -> Fault {
    let is = |kind| error.kind() == kind;
    let remedy = if is(io::ErrorKind::AddrInUse) {
        format!("`ss -ltnp sport = :{}` tells who does: end that, or write another port", address.port())
    } else if is(io::ErrorKind::AddrNotAvailable) {
        "`ip address` tells which addresses there are; it is tried again each second".to_owned()
    } else if is(io::ErrorKind::PermissionDenied) {
        "filterd has no capabilities: write a port from 1024 on".to_owned()
    } else {
        "it is tried again each second".to_owned()
    };
    let told = Explanation::new(format!("nobody listens at `metrics.listen`, {address}: {error}"), remedy);
    warn!("{told}");
    Fault { about: About::Configuration, since: clock::on_the_wall(clock::now()), told }
}

/// One request and its answer. A caller who breaks off has his reasons.
async fn converse(stream: TcpStream, _place: OwnedSemaphorePermit, routes: Arc<Routes>) {
    _ = setsockopt(&stream, sockopt::TcpUserTimeout, &DEAF);
    _ = setsockopt(&stream, sockopt::SndBuf, &WAITING);
    let service = service_fn(|request| {
        let routes = routes.clone();
        async move { Ok::<_, Infallible>(routes.answer(&request).await) }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(PATIENCE).max_buf_size(REQUEST).keep_alive(false);
    _ = http.serve_connection(TokioIo::new(stream), service).await;
}
