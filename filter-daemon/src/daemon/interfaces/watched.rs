//! One interface by its name: whether it is attached, and why not. `course` handles what happens to it.

mod course;
mod foreseen;
mod held_back;

use std::time::{Duration, Instant};

use tracing::info;

use crate::blocklist::Timestamp;
use crate::clock;
use crate::control::wire::{About, Fault, accept, status};
use crate::kernel::{AttachMode, AttachReason, Attachment, Link};
use crate::source::trouble::Phrasing;
use crate::text::Explanation;
pub use course::AttachRefusal;
pub use foreseen::ModeChange;
pub use held_back::MissedInterface;

#[derive(Clone)]
pub struct WatchedInterface {
    name: String,
    state: InterfaceState,
    /// Since when it is attached, as far as known.
    since: Timestamp,
    /// How long it was unprotected since it was first attached, without a gap that lasts.
    unprotected: Duration,
    gaps: u64,
    /// When someone detached the filter, within the last hour.
    taken_off: Vec<Instant>,
    /// Why it is filtered although it is not requested by this name.
    unnamed: Option<UnnamedReason>,
    /// The operator accepted that it is absent, and it has been absent since.
    need_not_be_there: bool,
    /// Why own flows are not stored on it although they should be, and since when.
    forgetful: Option<(Instant, String)>,
    /// Why packets that it sends are not filtered although they should be, and since when.
    unsent: Option<(Instant, String)>,
    /// The programs of others that see received frames before the filter.
    before: Vec<u32>,
}

/// Why an interface is filtered that the configuration does not name.
#[derive(Clone)]
enum UnnamedReason {
    /// It had this name, which another interface has now.
    Formerly(String),
    /// The configuration no longer names it, since then.
    HeldBack { since: Instant, is_told: bool },
}

#[derive(Clone)]
enum InterfaceState {
    /// Attached. The interface may have been renamed or moved since.
    Attached(Attachment, AttachedTo),
    Waiting(WaitingInterface),
}

#[derive(Clone)]
struct WaitingInterface {
    since: Instant,
    why: Option<Explanation>,
    is_there: bool,
    /// The gap may be shorter, because someone else detached the filter without an event from the kernel.
    is_guess: bool,
    /// No attempt before this time, as long as the interface has this number.
    held_back: Option<(Instant, u32)>,
}

#[derive(Clone, PartialEq, Eq)]
enum AttachedTo {
    Here,
    Renamed(String),
    Moved,
}

impl WaitingInterface {
    fn since(since: Instant, why: Option<Explanation>) -> Self {
        Self { since, why, is_there: false, is_guess: false, held_back: None }
    }
}

impl WatchedInterface {
    /// An interface that is not attached yet.
    pub fn new(name: String) -> Self {
        let state = InterfaceState::Waiting(WaitingInterface::since(clock::instant(), None));
        Self {
            name,
            state,
            since: clock::now(),
            unprotected: Duration::ZERO,
            gaps: 0,
            taken_off: Vec::new(),
            unnamed: None,
            need_not_be_there: false,
            forgetful: None,
            unsent: None,
            before: Vec::new(),
        }
    }

    /// The same interface under its present name, after another one has taken its name.
    pub fn without_its_name(&self, now: &str) -> Option<Self> {
        let InterfaceState::Attached(attached, _) = &self.state else { return None };
        let state = InterfaceState::Attached(*attached, AttachedTo::Here);
        let unnamed = Some(UnnamedReason::Formerly(self.name.clone()));
        let (since, unprotected, gaps) = (self.since, self.unprotected, self.gaps);
        Some(Self { state, unnamed, since, unprotected, gaps, ..Self::new(now.to_owned()) })
    }

    /// An interface that an earlier filterd left filtered, and that the configuration does not name.
    pub fn left(link: &Link) -> Self {
        Self {
            state: InterfaceState::found(link),
            unnamed: Some(UnnamedReason::held_back()),
            ..Self::new(link.name.clone())
        }
    }

    /// An interface that an earlier filterd left filtered, and whose requested name another interface has
    /// taken.
    pub fn left_without_its_name(link: &Link, formerly: &str) -> Self {
        Self {
            state: InterfaceState::found(link),
            unnamed: Some(UnnamedReason::Formerly(formerly.to_owned())),
            ..Self::new(link.name.clone())
        }
    }

    pub fn attached(&self) -> Option<&Attachment> {
        match &self.state {
            InterfaceState::Attached(attached, _) => Some(attached),
            InterfaceState::Waiting(_) => None,
        }
    }

    /// The warning about how it is attached.
    pub fn warning(&self) -> Option<Explanation> {
        self.attached()?.reason?.warning(&self.name)
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The row of this interface in `status`.
    pub fn status(&self) -> status::Interface {
        let mut told = status::Interface { name: self.name.clone(), ..status::Interface::default() };
        let mut unprotected = self.unprotected;
        match &self.state {
            InterfaceState::Attached(attached, place) => {
                told.mode = attached.mode().to_owned();
                told.reason = attached.reason.map(AttachReason::clause);
                told.note = self.note(place);
                told.up_since = Some(clock::on_the_wall(self.since));
            }
            InterfaceState::Waiting(waiting) => {
                told.mode = status::NOT_FILTERED.to_owned();
                told.note = waiting.why.as_ref().map(|why| why.message.clone());
                unprotected += waiting.since.elapsed();
            }
        }
        told.unprotected = unprotected.as_secs();
        told.gaps = self.gaps;
        told.accepted = self.is_accepted_as_absent();
        told
    }

    fn note(&self, place: &AttachedTo) -> Option<String> {
        let place = match place {
            AttachedTo::Here => None,
            AttachedTo::Renamed(now) => Some(format!("its name is now {now}")),
            AttachedTo::Moved => Some("it was moved to another network namespace".to_owned()),
        };
        let unnamed = self.unnamed.as_ref().map(|unnamed| match unnamed {
            UnnamedReason::Formerly(formerly) => format!(
                "its name was {formerly}; it is filtered until the next `filterd reload`, and after that only if the configuration lists it"
            ),
            UnnamedReason::HeldBack { .. } => "still filtered, although the configuration no longer lists it".to_owned(),
        });
        let before = match &self.before[..] {
            [] => None,
            [one] => Some(format!("another program sees packets before the filter (id {one})")),
            several => {
                let ids: Vec<_> = several.iter().map(ToString::to_string).collect();
                Some(format!("other programs see packets before the filter (ids {})", ids.join(", ")))
            }
        };
        let notes: Vec<_> = place.into_iter().chain(unnamed).chain(before).collect();
        (!notes.is_empty()).then(|| notes.join("; "))
    }

    /// The fault that it is not filtered. `protects` says whether any other named interface is filtered.
    pub fn fault(&self, protects: bool, mood: Phrasing) -> Option<Fault> {
        let InterfaceState::Waiting(WaitingInterface { since, why, is_there, .. }) = &self.state else {
            return None;
        };
        if self.unnamed.is_some() {
            return None;
        }
        let why = why.clone().filter(|_| *is_there).unwrap_or_else(|| self.absence(protects));
        let is_not = match mood {
            Phrasing::Is => "is not",
            Phrasing::Would => "would not be",
        };
        let message = format!("{} {is_not} filtered: {}", self.name, why.message);
        Some(protection_fault(*since, Explanation { message, remedy: why.remedy }))
    }

    /// The fault that own flows are not stored on it.
    pub fn forgetful_fault(&self) -> Option<Fault> {
        let (since, why) = self.forgetful.as_ref()?;
        let message = format!(
            "{}: this host's own connections are not remembered, so replies from listed sources are dropped: {why}",
            self.name
        );
        let told = Explanation::new(message, "filterd retries every 5 s; `match: all` does not need this");
        Some(protection_fault(*since, told))
    }

    /// The fault that packets which it sends are not filtered.
    pub fn unsent_fault(&self) -> Option<Fault> {
        let (since, why) = self.unsent.as_ref()?;
        let message = format!("{}: packets to blocked addresses are not dropped: {why}", self.name);
        Some(protection_fault(*since, Explanation::new(message, "filterd retries every 5 s")))
    }

    /// Why it is absent, and the remedy. The absence can be accepted only while another named interface is
    /// filtered.
    fn absence(&self, protects: bool) -> Explanation {
        let message = format!("there is no interface {}", self.name);
        let begun = "filterd attaches as soon as it exists";
        let then = if self.need_not_be_there {
            // Shown only if no other interface is filtered.
            "its absence was accepted, which counts only while another configured interface is filtered"
                .to_owned()
        } else if protects {
            let accept = accept::word_for(&self.name);
            format!("if it may be missing: filterd reload --accept {accept}")
        } else {
            "no configured interface is filtered: add one that exists to the configuration, or stop filterd"
                .to_owned()
        };
        Explanation::new(message, format!("{begun}\n{then}"))
    }

    /// Accepts that it is absent, until it appears.
    pub fn need_not_be_there(&mut self) {
        self.need_not_be_there |= self.is_missed() && !self.is_there();
    }

    /// Logs that its absence is accepted.
    pub fn tell_accepted(&self) {
        info!("{}: its absence is accepted until it appears or filterd restarts", self.name);
    }

    /// Withdraws the acceptance of its absence.
    pub fn require(&mut self) {
        self.need_not_be_there = false;
    }

    /// Whether it is absent and that was accepted.
    pub fn is_accepted_as_absent(&self) -> bool {
        self.need_not_be_there && self.is_missed() && !self.is_there()
    }

    /// Whether it was requested and is attached, or may be later.
    pub fn has_hope(&self) -> bool {
        self.is_named() && !self.refuses()
    }

    /// Whether it was requested by this name.
    pub fn is_named(&self) -> bool {
        self.unnamed.is_none()
    }

    /// Whether it was requested and is not filtered.
    pub fn is_missed(&self) -> bool {
        self.is_named() && self.attached().is_none()
    }

    /// Whether it exists but is not filtered.
    pub fn refuses(&self) -> bool {
        self.attached().is_none() && self.is_there()
    }

    /// Whether it existed at the last look.
    pub fn is_there(&self) -> bool {
        !matches!(self.state, InterfaceState::Waiting(WaitingInterface { is_there: false, .. }))
    }

    /// Whether it can be dropped: absent, and not requested.
    pub fn is_over(&self) -> bool {
        self.unnamed.is_some()
            && matches!(self.state, InterfaceState::Waiting(WaitingInterface { is_there: false, .. }))
    }

    /// Forgets earlier failures, because it was requested by this name.
    pub fn begin_anew(&mut self) {
        self.unnamed = None;
        self.taken_off.clear();
        if let InterfaceState::Waiting(waiting) = &mut self.state {
            waiting.held_back = None;
        }
    }

    /// Continues the counts of the filterd that was replaced.
    pub fn goes_on_from(&mut self, before: &status::Interface) {
        self.gaps += before.gaps;
        self.unprotected += Duration::from_secs(before.unprotected);
        if let Some(since) = before.up_since {
            self.since = clock::from_the_wall(since);
        }
        if before.accepted {
            self.need_not_be_there();
            self.tell_accepted();
        }
    }

    /// Records that XDP now runs this program there.
    pub fn set_program(&mut self, program: u32) {
        if let InterfaceState::Attached(attached, ..) = &mut self.state
            && attached.mode == Some(AttachMode::Native)
        {
            attached.program = program;
        }
    }

    /// Whether its link is where it was, with filterd's program.
    pub fn is_as_left(&self, links: &[Link]) -> bool {
        let Some(Attachment { index, program, .. }) = self.attached() else { return true };
        let [flows, sent] = [&self.forgetful, &self.unsent].map(|why| why.as_ref().map(|(_, why)| why));
        links.iter().any(|link| {
            let is_there = link.index == *index && link.program == *program;
            let is_sent = link.egress.as_ref() == flows && link.outbound.as_ref() == sent;
            link.name == self.name && is_there && is_sent
        })
    }
}

fn protection_fault(since: Instant, told: Explanation) -> Fault {
    let since = clock::on_the_wall(clock::then(since));
    Fault { about: About::Protection, since, told, id: None }
}
