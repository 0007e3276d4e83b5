//! Makes the errors that requests are answered with.

use crate::blocklist::{Origin, Polarity, Refusal};
use crate::command::render::figure::counted_as;
use crate::control::wire::Failure;
use crate::control::wire::reload::then_reload;
use crate::daemon::change::ChangeTotals;
use crate::daemon::commit::CommitError;
use crate::daemon::error::DaemonError;
use crate::daemon::persistence::MEND_AND_START;
use crate::exit::Exit;
use crate::journal::NotWritten;
use crate::kernel::KernelError;
use crate::state_directory::IF_REPLACED;
use crate::text::{Explain, Explanation};

/// There is no list of this name.
pub fn no_list(name: &str) -> Failure {
    Failure::Unparsable(Explanation::new(
        format!("there is no list \"{name}\""),
        "see all lists: filterd status\na live list disappears with its last entry",
    ))
}

/// The name is reserved, and no list has it.
pub fn reserved(name: &str) -> Failure {
    Failure::Refused(Explanation::new(
        format!("the list name \"{name}\" is reserved for filterd"),
        "choose another name",
    ))
}

/// The list comes from the configuration.
pub fn belongs_elsewhere(name: &str, is_on_trial: bool) -> Failure {
    let message = format!("cannot change list \"{name}\" by command: it is defined in the configuration");
    let remedy = format!(
        "to change it, edit its file or the configuration, {}\n\
         to use a live list instead: filterd add ADDRESS, or filterd allow add ADDRESS",
        then_reload(is_on_trial)
    );
    Failure::Refused(Explanation::new(message, remedy))
}

/// The list follows another system.
pub fn follows_crowdsec(name: &str) -> Failure {
    let message = format!("cannot change list \"{name}\" by command: it follows CrowdSec");
    let remedy = "to end a decision, on the host of CrowdSec: sudo cscli decisions delete --value ADDRESS\n\
                  to let an address pass here, although CrowdSec bans it: filterd allow add ADDRESS";
    Failure::Refused(Explanation::new(message, remedy))
}

/// The list is the guard's own.
pub fn guard_list_refusal(name: &str) -> Failure {
    let message = format!(
        "cannot change list \"{name}\" by command: filterd fills it with the addresses this host depends on"
    );
    let remedy = "to allow more addresses: filterd allow add ADDRESS";
    Failure::Refused(Explanation::new(message, remedy))
}

/// The list has the other polarity.
pub fn other_polarity(name: &str, is: Polarity) -> Failure {
    let (message, remedy) = match is {
        Polarity::Allow => (
            format!("list \"{name}\" allows: `add` and `remove` change only lists that block"),
            "choose another list, or use `filterd allow`",
        ),
        Polarity::Block => (
            format!("list \"{name}\" blocks: `allow add` and `allow remove` change only lists that allow"),
            "choose another list, or use `filterd add` and `filterd remove`",
        ),
    };
    Failure::Refused(Explanation::new(message, remedy))
}

/// Another command shows this list.
pub fn listed_elsewhere(name: &str, is: Polarity) -> Failure {
    let (message, command) = match is {
        Polarity::Allow => {
            (format!("list \"{name}\" allows, so `filterd list` does not show it"), "allow list")
        }
        Polarity::Block => {
            (format!("list \"{name}\" blocks, so `filterd allow list` does not show it"), "list")
        }
    };
    Failure::Unparsable(Explanation::new(message, format!("to show it: filterd {command} --list {name}")))
}

/// Converts an error of a change.
pub fn not_done(error: CommitError) -> Failure {
    match error {
        CommitError::Kernel(error) => kernel_failed(error),
        CommitError::Refused(Refusal::NoSuchList(name)) => no_list(&name),
        CommitError::Refused(Refusal::BelongsElsewhere { name, origin: Origin::Host }) => {
            guard_list_refusal(&name)
        }
        CommitError::Refused(Refusal::BelongsElsewhere { name, origin: Origin::Remote }) => {
            follows_crowdsec(&name)
        }
        CommitError::Refused(Refusal::BelongsElsewhere { name, .. }) => belongs_elsewhere(&name, false),
        CommitError::Refused(Refusal::OtherPolarity { name, is }) => other_polarity(&name, is),
        CommitError::Refused(refusal @ Refusal::TooManyClauses) => {
            let remedy = "give lists and CrowdSec the same `ports`, then run `filterd reload`";
            Failure::Refused(Explanation::new(refusal.to_string(), remedy))
        }
        CommitError::Refused(refusal @ Refusal::TooManyLists) => {
            let remedy = "use an existing list, or empty one: filterd flush --list NAME";
            Failure::Refused(Explanation::new(refusal.to_string(), remedy))
        }
    }
}

/// A flush ended before it was complete.
pub fn partly_flushed(done: ChangeTotals, error: CommitError) -> Failure {
    let why = not_done(error).explanation().clone();
    let removed = counted_as(done.changed, ["entry was", "entries were"]);
    let message = format!("{removed} removed, the others were not: {}", why.message);
    Failure::Partly(Explanation { message, remedy: why.remedy })
}

/// Converts an error that ended filterd or refused a reload.
pub fn of(error: &DaemonError) -> Failure {
    let told = error.explain();
    match Exit::from(error) {
        Exit::Config => Failure::InvalidConfig(told),
        Exit::Usage => Failure::Unparsable(told),
        Exit::Unreachable => Failure::Unavailable(told),
        Exit::Refused => Failure::Refused(told),
        Exit::Partly => Failure::Partly(told),
        Exit::Done | Exit::No | Exit::Unchanged | Exit::Kernel => Failure::Kernel(told),
    }
}

pub fn kernel_failed(error: KernelError) -> Failure {
    Failure::Kernel(error.explain())
}

/// The change was made, but is not on disk.
pub fn not_durable(failure: NotWritten) -> Explanation {
    not_on_disk(format!("done, but the change would be lost in a restart: {failure}"), &failure)
}

/// Nothing had to be changed, but earlier changes may not be on disk.
pub fn not_durable_before(failure: NotWritten) -> Explanation {
    let message = format!("nothing to change, but earlier changes are not all on disk: {failure}");
    not_on_disk(message, &failure)
}

fn not_on_disk(message: String, failure: &NotWritten) -> Explanation {
    if failure.has_no_place() {
        let remedy = "the state directory was removed, and filterd can write only to the one it started with: restart filterd (`filterd list` shows what would be lost)";
        return Explanation::new(message, remedy);
    }
    if failure.lasts() {
        return Explanation::new(message, MEND_AND_START);
    }
    let remedy = format!(
        "filterd writes it as soon as it can, and `filterd status` reports what is missing; {IF_REPLACED}"
    );
    Explanation::new(message, remedy)
}
