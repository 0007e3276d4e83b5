//! Rehearses a start beside the running filterd: reads everything, fills tables of its own in the kernel and
//! loads the programs for them. It attaches nothing and leaves nothing.
//!
//! The rehearsal is a process of its own, because reading needs the rights of the daemon's user, and the start
//! after it needs those of root.

use std::collections::HashMap;
use std::env;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use nix::unistd::geteuid;
use rustix::thread::set_name;

use super::{must_find_interfaces, must_protect_as_well};
use crate::blocklist::Blocklist;
use crate::cli::Run;
use crate::control::client::{Client, Endpoint};
use crate::control::wire::{Status, TakeOver, entry, take_over};
use crate::daemon::error::DaemonError;
use crate::daemon::guard::Guard;
use crate::daemon::log::LEVEL;
use crate::daemon::not_succeeded::SuccessionError;
use crate::daemon::owner::Prepared;
use crate::daemon::privilege;
use crate::daemon::start_input::StartInput;
use crate::kernel::broker::{Broker, REHEARSAL};
use crate::kernel::{KernelError, interface};
use crate::{memory, net_namespace};

/// Runs the rehearsal in a process of its own, with the arguments of this one. It logs its error itself.
pub fn rehearse_apart() -> Result<(), DaemonError> {
    let mut command = Command::new("/proc/self/exe");
    // The start logs the same remarks again.
    command.arg0("filterd").args(env::args_os().skip(1)).arg("--rehearse").env(LEVEL, "error");
    let ended = command.status()?;
    match ended.code() {
        Some(0) => Ok(()),
        Some(code) => Err(DaemonError::Rehearsed(code as u8)),
        None => Err(SuccessionError::Interrupted(ended.to_string()).into()),
    }
}

/// Does everything that a start does before it needs the place of the running filterd.
pub async fn rehearse(run: &Run) -> Result<(), DaemonError> {
    // It was started by a path that does not say what it is.
    set_name(c"filterd").map_err(std::io::Error::from)?;
    let at = Endpoint { socket: run.socket.clone(), timeout: run.timeout };
    let mut client = Client::connect(at).map_err(SuccessionError::from)?;
    must_be_ours(&client.call(&TakeOver {}).map_err(SuccessionError::from)?, run)?;
    let directory = privilege::state_directory(run);
    directory.inspect()?;
    let broker = Broker::apart(&run.pin_dir.join(REHEARSAL), &run.log.words()).map_err(overtaken)?;
    privilege::drop_privileges(run, &directory)?;
    let status = client.call(&Status {}).map_err(SuccessionError::from)?;
    let live = status.lists.iter().filter(|list| list.kind == entry::LIVE);
    let live: HashMap<_, _> = live.map(|list| (list.name.as_str(), list.targets)).collect();
    let reading = StartInput::read_only(run)?;
    let StartInput { sources, configuration, loaded } =
        reading.strictly(run, |name| live.get(name).copied().unwrap_or(0))?;
    must_protect_as_well(&loaded)?;
    let there: Vec<_> = interface::all().await?.into_iter().map(|one| one.name).collect();
    must_find_interfaces(&loaded.config.interfaces_besides(&run.interfaces), &there, &status.interfaces)?;
    let facts = (Blocklist::default(), Guard::begin(&run.state_dir).await);
    Prepared::new(run, (configuration, loaded), sources, broker, facts)?.protection.end();
    Ok(())
}

/// Another rehearsal has locked the directory.
fn overtaken(error: KernelError) -> DaemonError {
    if let KernelError::Taken(_) = error { SuccessionError::Overtaken.into() } else { error.into() }
}

/// Requires that the running filterd has the places that the start is to use, and this namespace.
fn must_be_ours(running: &take_over::Reply, run: &Run) -> Result<(), SuccessionError> {
    must_be_the_same("pins", "--pin-dir", (&running.pin_dir, running.pid), &run.pin_dir)?;
    must_be_the_same("state", "--state-dir", (&running.state_dir, running.pid), &run.state_dir)?;
    if net_namespace::is_another(Path::new("/proc"), running.pid) {
        return Err(SuccessionError::OtherNamespace { pid: running.pid });
    }
    let ours = run.user.as_ref().map_or_else(geteuid, |user| user.uid).as_raw();
    if running.user != ours {
        return Err(SuccessionError::OtherUser { theirs: running.user, ours });
    }
    must_have_memory(running.memory, memory::available().map(|free| free.bytes))
}

/// Requires as much free memory as the old one uses.
fn must_have_memory(needed: u64, available: Option<u64>) -> Result<(), SuccessionError> {
    let available = available.unwrap_or(u64::MAX);
    if needed <= available {
        return Ok(());
    }
    let mebibytes = |bytes: u64| bytes >> 20;
    Err(SuccessionError::NoMemory { needed: mebibytes(needed), available: mebibytes(available) })
}

/// Requires that both paths, which may differ, lead to the same file.
fn must_be_the_same(
    what: &'static str,
    flag: &'static str,
    (theirs, pid): (&Path, u32),
    ours: &Path,
) -> Result<(), SuccessionError> {
    let identity = |path: &Path| fs::metadata(path).map(|found| (found.dev(), found.ino()));
    let is_named_the_same = || std::path::absolute(ours).is_ok_and(|ours| ours == theirs);
    match (identity(theirs), identity(ours)) {
        (Ok(one), Ok(other)) if one == other => Ok(()),
        _ if is_named_the_same() => Err(SuccessionError::OtherMounts { what, path: theirs.to_owned(), pid }),
        _ => Err(SuccessionError::Elsewhere { what, flag, theirs: theirs.to_owned(), ours: ours.to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Explain;

    #[test]
    fn old_daemon_stays_without_memory_for_two() {
        must_have_memory(1 << 30, Some(1 << 30)).unwrap();
        must_have_memory(1 << 30, None).unwrap();
        let refused = must_have_memory(3 << 30, Some(1 << 30)).unwrap_err();
        let told = refused.explain();
        assert!(
            told.message.contains("need 3072 MiB") && told.message.contains("1024 MiB are free"),
            "{told}"
        );
        assert!(told.remedy.unwrap().starts_with("nothing has changed"));
    }
}
