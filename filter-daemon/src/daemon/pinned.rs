//! Checks that the pins of the filter exist, and restores them if someone removed them. Without pins the
//! filter ends with the daemon.

use std::fmt;

use tracing::{error, warn};

use super::notices::notice;
use crate::blocklist::Timestamp;
use crate::clock;
use crate::control::ServerHandle;
use crate::control::wire::{About, Fault};
use crate::kernel::{CallErrors, Filter, KernelError, Repairs};
use crate::mount_namespace;
use crate::net_namespace;
use crate::text::{Explain, Explanation};

/// The interfaces are filtered again by the time this is shown.
const WERE_GONE: &str = "nothing was filtered until this filterd started: the filter that the earlier one left attached was removed meanwhile";

/// The part of the owner's state that concerns pins.
#[derive(Default)]
pub struct Pinned {
    /// Why the pins cannot be restored, and since when.
    missing: Option<(Timestamp, Explanation)>,
    /// Since when the file system with the pins is mounted only in this mount namespace.
    private: Option<Timestamp>,
    /// When this filterd found that the filter of the one before was gone.
    were_gone: Option<Timestamp>,
    /// The file that tells the next filterd whether a filter is attached.
    beside: Option<ServerHandle>,
    /// The value recorded there last.
    noted: Option<bool>,
    calls: CallErrors,
}

impl Pinned {
    /// Sets the place to record whether the filter is attached.
    pub fn note_beside_socket(&mut self, socket: ServerHandle) {
        self.beside = Some(socket);
    }

    /// Records it, if the recorded value differs.
    pub fn note_attached(&mut self, is_attached: bool) {
        let Some(beside) = self.beside.as_ref().filter(|_| self.noted != Some(is_attached)) else { return };
        let attached = is_attached.then(|| AttachmentNote::here().to_string());
        if let Err(error) = beside.note_attached(attached.as_deref()) {
            warn!("cannot store beside the socket whether the filter is attached: {error}");
        }
        self.noted = Some(is_attached);
    }

    /// Records that the pins end with the mount namespace of filterd.
    pub fn end_with_namespace(&mut self, now: Timestamp) {
        let told = private();
        warn!("{told}");
        self.private = Some(now);
    }

    /// Records that the filter left by the filterd before was gone when this one began.
    pub fn were_gone(&mut self, now: Timestamp) {
        error!("{WERE_GONE}");
        self.were_gone = Some(now);
    }

    pub fn acknowledge(&mut self) {
        self.were_gone = None;
    }

    /// The notice that nothing was filtered for a while.
    pub fn gap(&self) -> Option<Fault> {
        let since = self.were_gone?;
        let remedy = "find out what removes the pins (`mount | grep bpf`, clean-up scripts); if it is meant, stop filterd by a signal or run `filterd detach`";
        // The gap is over, but may happen again. Nothing passes now that should be dropped.
        Some(notice(About::Durability, since, WERE_GONE, remedy))
    }

    /// The remark that some calls wait that should fail. Their packets are dropped.
    pub fn remark(&self) -> Option<Explanation> {
        let and = "although the packets are dropped";
        match &self.calls {
            CallErrors::Off | CallErrors::On => None,
            CallErrors::OwnCgroup => Some(Explanation::new(
                format!(
                    "calls of other containers and of the host that send to blocked addresses wait instead of failing, {and}: filterd sees only its own cgroup"
                ),
                "start filterd in the host's cgroup namespace (docker run --cgroupns host), or write `outbound_errors: false`",
            )),
            CallErrors::Refused(why) => Some(Explanation::new(
                format!("calls that send to blocked addresses wait instead of failing, {and}: {why}"),
                "filterd retries every 5 s; to do without, write `outbound_errors: false`",
            )),
        }
    }

    /// Checks the pins. Returns the repairs, unless they failed.
    pub fn look(&mut self, filter: &mut Filter) -> Option<Repairs> {
        let mended = filter.mend_pins();
        let put_right = mended.as_ref().ok().cloned();
        if let Some(repairs) = &put_right {
            self.calls.clone_from(&repairs.calls);
        }
        self.note(mended.map(drop), clock::now());
        put_right
    }

    fn note(&mut self, mended: Result<(), KernelError>, now: Timestamp) {
        let Err(error) = mended else {
            self.missing = None;
            return;
        };
        let told = error.explain();
        if self.missing.as_ref().is_none_or(|(_, before)| *before != told) {
            error!("the pins of the filter are missing and cannot be restored: {told}");
        }
        let since = self.missing.as_ref().map_or(now, |(since, _)| *since);
        self.missing = Some((since, told));
    }

    /// The fault that the filter would end with filterd.
    pub fn fault(&self) -> Option<Fault> {
        let Some((since, told)) = self.missing.as_ref() else {
            let since = clock::on_the_wall(self.private?);
            return Some(Fault { about: About::Durability, since, told: private(), id: None });
        };
        let message = format!(
            "if filterd ended now, the filter would end with it: its pins are missing and cannot be restored: {}",
            told.message
        );
        let first = told.remedy.as_ref().map_or_else(String::new, |remedy| format!("{remedy}; "));
        let remedy = format!("{first}filterd retries every 5 s");
        Some(Fault {
            about: About::Durability,
            since: clock::on_the_wall(*since),
            told: Explanation::new(message, remedy),
            id: None,
        })
    }
}

fn private() -> Explanation {
    let message = "if filterd crashed, the filter would end with it: the BPF file system with its pins is mounted only in this mount namespace, and disappears with its last process";
    Explanation::new(message, mount_namespace::cure())
}

/// The boot and the network namespace in which the filter is attached. A reboot detaches it.
pub struct AttachmentNote {
    boot: String,
    /// The network namespace, if known.
    namespace: Option<String>,
}

impl AttachmentNote {
    fn here() -> Self {
        Self { boot: this_boot(), namespace: net_namespace::ours() }
    }

    /// Reads a recorded value.
    pub fn noted(noted: &str) -> Self {
        let (boot, namespace) =
            noted.split_once(' ').map_or((noted, None), |(boot, namespace)| (boot, Some(namespace)));
        Self { boot: boot.to_owned(), namespace: namespace.map(str::to_owned) }
    }

    /// Whether the value is from the present boot.
    pub fn is_of_this_boot(&self) -> bool {
        self.boot == this_boot()
    }

    /// Whether it was in another network namespace. If in doubt, it was not.
    pub fn is_elsewhere(&self) -> bool {
        self.namespace.as_ref().is_some_and(|its| net_namespace::ours().is_some_and(|ours| ours != *its))
    }
}

fn this_boot() -> String {
    clock::moment().boot.to_string()
}

impl fmt::Display for AttachmentNote {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Self { boot, namespace } = self;
        f.write_str(boot)?;
        namespace.as_ref().map_or(Ok(()), |namespace| write!(f, " {namespace}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unfiltered_time_is_reported_until_acknowledged() {
        let mut pinned = Pinned::default();
        assert_eq!(pinned.gap(), None);
        pinned.were_gone(Timestamp::from_secs(7));
        let fault = pinned.gap().unwrap();
        assert_eq!((fault.about, fault.since), (About::Durability, 7));
        assert!(fault.id.is_some_and(|id| fault.told.remedy.is_some_and(|remedy| remedy.contains(&id))));
        pinned.acknowledge();
        assert_eq!(pinned.gap(), None);
    }

    #[test]
    fn missing_pins_are_reported_until_restored() {
        let mut pinned = Pinned::default();
        let at = |secs| Timestamp::from_secs(secs);
        let gone =
            || KernelError::NoBpffs { path: "/sys/fs/bpf/filterd".into(), reason: "it is gone".into() };
        assert_eq!(pinned.fault(), None);
        pinned.note(Err(gone()), at(7));
        pinned.note(Err(gone()), at(12));
        let fault = pinned.fault().unwrap();
        assert_eq!((fault.about, fault.since), (About::Durability, 7));
        assert!(fault.told.message.contains("/sys/fs/bpf/filterd"), "{}", fault.told.message);
        pinned.note(Ok(()), at(17));
        assert_eq!(pinned.fault(), None);
    }
}
