//! Makes the errors that requests are answered with.

use crate::blocklist::{Origin, Polarity, Refusal};
use crate::command::render::figure::counted_as;
use crate::control::wire::Failure;
use crate::control::wire::reload::then_reload;
use crate::daemon::change::Done;
use crate::daemon::commit::NotDone;
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
        format!("no such list: {name}"),
        "`filterd status` names those there are; a live list goes with its last entry",
    ))
}

/// The name is reserved, and no list has it.
pub fn reserved(name: &str) -> Failure {
    Failure::Refused(Explanation::new(
        format!("the name {name} is reserved for filterd itself"),
        "choose another name",
    ))
}

/// The list comes from the configuration.
pub fn belongs_elsewhere(name: &str, is_on_trial: bool) -> Failure {
    let message = format!("list {name} belongs to the configuration");
    Failure::Refused(Explanation::new(message, format!("change it there, {}", then_reload(is_on_trial))))
}

/// The list is the guard's own.
pub fn is_the_guards(name: &str) -> Failure {
    let message = format!("list {name} is filterd's own: it holds what this host needs, and follows that");
    let remedy = "nothing overrides it; `filterd allow add` allows more";
    Failure::Refused(Explanation::new(message, remedy))
}

/// The list has the other polarity.
pub fn other_polarity(name: &str, is: Polarity) -> Failure {
    let (message, remedy) = match is {
        Polarity::Allow => {
            (format!("list {name} allows, and blocks nothing"), "choose another list, or use `filterd allow`")
        }
        Polarity::Block => (
            format!("list {name} blocks, and allows nothing"),
            "choose another list, or use `filterd add` and `remove`",
        ),
    };
    Failure::Refused(Explanation::new(message, remedy))
}

/// Another command shows this list.
pub fn listed_elsewhere(name: &str, is: Polarity) -> Failure {
    let (message, command) = match is {
        Polarity::Allow => (format!("list {name} allows, and blocks nothing"), "allow list"),
        Polarity::Block => (format!("list {name} blocks, and allows nothing"), "list"),
    };
    Failure::Unparsable(Explanation::new(message, format!("`filterd {command} --list {name}` shows it")))
}

/// Converts an error of a change.
pub fn not_done(error: NotDone) -> Failure {
    match error {
        NotDone::Kernel(error) => kernel_failed(error),
        NotDone::Refused(Refusal::NoSuchList(name)) => no_list(&name),
        NotDone::Refused(Refusal::BelongsElsewhere { name, origin: Origin::Host }) => is_the_guards(&name),
        NotDone::Refused(Refusal::BelongsElsewhere { name, .. }) => belongs_elsewhere(&name, false),
        NotDone::Refused(Refusal::OtherPolarity { name, is }) => other_polarity(&name, is),
        NotDone::Refused(refusal @ Refusal::TooManyLists) => {
            let remedy = "use one of those there are, or empty some: `filterd flush --list NAME`";
            Failure::Refused(Explanation::new(refusal.to_string(), remedy))
        }
    }
}

/// A flush ended before it was complete.
pub fn partly_flushed(done: Done, error: NotDone) -> Failure {
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
    not_on_disk(format!("done, but it would not survive a restart: {failure}"), &failure)
}

/// Nothing had to be changed, but earlier changes may not be on disk.
pub fn not_durable_before(failure: NotWritten) -> Explanation {
    let message =
        format!("nothing had to be changed, but what was changed before is not all on disk: {failure}");
    not_on_disk(message, &failure)
}

fn not_on_disk(message: String, failure: &NotWritten) -> Explanation {
    if failure.has_no_place() {
        let remedy = "the state directory was removed: start filterd again, which may write only to the one that it began with \
                      (`filterd list` has what would be lost)";
        return Explanation::new(message, remedy);
    }
    if failure.lasts() {
        return Explanation::new(message, MEND_AND_START);
    }
    let remedy = format!(
        "filterd writes it as soon as it can, and `filterd status` tells while something is missing; {IF_REPLACED}"
    );
    Explanation::new(message, remedy)
}
