//! Reports to the service manager (sd_notify) that filterd is ready, that it is alive, and its state. Without
//! a service manager, nothing happens.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};
use std::{env, io, process, thread};

use crate::clock;

/// How often the state is reported again, if it has changed.
const STATUS: Duration = Duration::from_secs(10);

/// How much more time is requested while lists are read and tables filled.
const EXTENSION: Duration = Duration::from_secs(60);

/// How often that request is repeated.
const EXTENDED_EVERY: Duration = Duration::from_secs(10);

/// The service manager, if there is one.
#[derive(Debug, Default)]
pub struct Notify {
    manager: Option<Manager>,
}

#[derive(Debug)]
struct Manager {
    /// Opened before privileges are given up.
    socket: UnixDatagram,
    /// How often to report.
    every: Duration,
    /// The time of the last report.
    told: Instant,
    status: String,
}

/// Requests more time from the service manager until it is dropped.
#[must_use]
pub struct Starting {
    _ends: Option<Sender<()>>,
}

impl Notify {
    /// The service manager that the environment names.
    pub fn from_environment() -> Self {
        let socket = env::var("NOTIFY_SOCKET").ok().and_then(|name| connect(&name).ok());
        let watchdog = watchdog(|name| env::var(name).ok());
        Self { manager: socket.map(|socket| Manager::new(socket, watchdog)) }
    }

    /// Requests time until everything is loaded. A separate thread does this, because the present one is busy
    /// loading.
    pub fn starting(&self) -> Starting {
        let socket = self.manager.as_ref().and_then(|manager| manager.socket.try_clone().ok());
        let Some(socket) = socket else { return Starting { _ends: None } };
        let (ends, has_ended) = mpsc::channel::<()>();
        let ask = move || {
            loop {
                send(&socket, &format!("EXTEND_TIMEOUT_USEC={}", EXTENSION.as_micros()));
                if has_ended.recv_timeout(EXTENDED_EVERY) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
            }
        };
        let thread = thread::Builder::new().name("starting".into()).spawn(ask);
        Starting { _ends: thread.is_ok().then_some(ends) }
    }

    /// Reports that the filter works.
    pub fn ready(&mut self, status: String) {
        if let Some(manager) = &mut self.manager {
            send(&manager.socket, &format!("READY=1\nSTATUS={status}"));
            manager.status = status;
        }
    }

    /// Reports that filterd is about to end.
    pub fn stopping(&self) {
        if let Some(manager) = &self.manager {
            send(&manager.socket, "STOPPING=1\nSTATUS=stopping");
        }
    }

    /// The time until the next report is due.
    pub fn until_due(&self) -> Option<Duration> {
        let manager = self.manager.as_ref()?;
        Some(manager.every.saturating_sub(clock::instant().duration_since(manager.told)))
    }

    /// Reports that the loop runs, and the state if it has changed.
    pub fn alive(&mut self, status: impl FnOnce() -> String) {
        if self.until_due().is_none_or(|left| !left.is_zero()) {
            return;
        }
        if let Some(manager) = &mut self.manager {
            manager.told = clock::instant();
            let status = status();
            let is_news = status != manager.status;
            let news = if is_news { format!("\nSTATUS={status}") } else { String::new() };
            send(&manager.socket, &format!("WATCHDOG=1{news}"));
            manager.status = status;
        }
    }
}

impl Manager {
    fn new(socket: UnixDatagram, watchdog: Option<Duration>) -> Self {
        let every = watchdog.map_or(STATUS, |patience| STATUS.min(patience / 3));
        Self { socket, every, told: clock::instant(), status: String::new() }
    }
}

/// The longest silence of this process that the watchdog accepts, if it is enabled.
fn watchdog(variable: impl Fn(&str) -> Option<String>) -> Option<Duration> {
    let is_ours = variable("WATCHDOG_PID").is_none_or(|pid| pid == process::id().to_string());
    let micros = variable("WATCHDOG_USEC").filter(|_| is_ours)?.parse().ok()?;
    Some(Duration::from_micros(micros)).filter(|patience| !patience.is_zero())
}

fn connect(name: &str) -> io::Result<UnixDatagram> {
    let socket = UnixDatagram::unbound()?;
    match name.strip_prefix('@') {
        Some(name) => socket.connect_addr(&SocketAddr::from_abstract_name(name)?)?,
        None => socket.connect(name)?,
    }
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// Sends without waiting. If the service manager does not read, its watchdog handles that.
fn send(socket: &UnixDatagram, words: &str) {
    _ = socket.send(words.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_manager(watchdog: Option<Duration>) -> (Notify, UnixDatagram) {
        let (ours, its) = UnixDatagram::pair().unwrap();
        (Notify { manager: Some(Manager::new(ours, watchdog)) }, its)
    }

    fn heard(its: &UnixDatagram) -> String {
        let mut bytes = [0; 512];
        let length = its.recv(&mut bytes).unwrap();
        String::from_utf8(bytes[..length].to_vec()).unwrap()
    }

    #[test]
    fn readiness_is_reported_with_status() {
        let (mut notify, its) = with_manager(None);
        notify.ready("dropping".into());
        assert_eq!(heard(&its), "READY=1\nSTATUS=dropping");
        notify.stopping();
        assert_eq!(heard(&its), "STOPPING=1\nSTATUS=stopping");
    }

    #[test]
    fn watchdog_is_fed_thrice_with_changed_status() {
        let (mut notify, its) = with_manager(Some(Duration::from_millis(3)));
        notify.ready("one".into());
        heard(&its);
        for (status, told) in [("one", "WATCHDOG=1"), ("two", "WATCHDOG=1\nSTATUS=two")] {
            while !notify.until_due().unwrap().is_zero() {
                thread::yield_now();
            }
            notify.alive(|| status.into());
            assert_eq!(heard(&its), told);
        }
    }

    #[test]
    fn watchdog_is_not_fed_early() {
        let (mut notify, its) = with_manager(Some(Duration::from_secs(3000)));
        notify.alive(|| unreachable!("nobody wants to know yet"));
        notify.stopping();
        assert!(heard(&its).starts_with("STOPPING"));
    }

    #[test]
    fn more_time_is_asked_for_while_it_starts() {
        let (notify, its) = with_manager(None);
        let starting = notify.starting();
        assert_eq!(heard(&its), "EXTEND_TIMEOUT_USEC=60000000");
        drop(starting);
    }

    #[test]
    fn watchdog_of_another_process_is_ignored() {
        let of = |pid: &str| {
            watchdog(|name| Some(if name == "WATCHDOG_PID" { pid } else { "30000000" }.to_owned()))
        };
        assert_eq!(of(&process::id().to_string()), Some(Duration::from_secs(30)));
        assert_eq!(of("1"), None);
        assert_eq!(watchdog(|_| None), None);
    }

    #[test]
    fn sockets_without_a_file_are_found_too() {
        let name = format!("filterd-notify-{}", process::id());
        let its = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        send(&connect(&format!("@{name}")).unwrap(), "READY=1");
        assert_eq!(heard(&its), "READY=1");
    }
}
