//! `filterd detach`: removes the objects that a filterd which no longer runs has left in the kernel.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::cli::{Detach, places};
use crate::command::render::console;
use crate::control::pins_note;
use crate::control::wire::Failure;
use crate::exit::Exit;
use crate::kernel::KernelError;
use crate::kernel::leftovers::{self, RemovedPins};
use crate::text::{Explain, Explanation, printable};

/// Removes everything, and prints what that was.
pub fn detach(detach: &Detach) -> ExitCode {
    // A filterd from before pins were locked does not lock them, but it uses the usual pins if it listens at
    // the usual place.
    if detach.pin_dir.is_none() && UnixStream::connect(&detach.socket).is_ok() {
        return refuse(detach, "filterd is running");
    }
    let pins = pins_of(detach);
    match leftovers::remove(&pins) {
        Ok(removed) => {
            // The operator removed the filter on purpose, so that no start needs to report a gap.
            _ = pins_note::detached(&detach.socket, &pins);
            let told = console::ended(tell(detach, &pins, removed.as_ref()));
            let is_all = removed.is_none_or(|removed| out_of_reach(&removed).next().is_none());
            if is_all { told.into() } else { Exit::Partly.into() }
        }
        Err(error @ KernelError::Taken(_)) => refuse(detach, &error.explain().message),
        Err(error @ KernelError::NotPermitted { .. }) => {
            fail(detach, &Failure::PermissionDenied(error.explain()))
        }
        Err(error @ KernelError::NoPins { .. }) => fail(detach, &Failure::Unparsable(error.explain())),
        Err(error) => fail(detach, &Failure::Kernel(error.explain())),
    }
}

/// The directory that was named, or else the one that the last filterd at this socket used.
fn pins_of(detach: &Detach) -> PathBuf {
    let noted = || pins_note::read(&detach.socket).ok().flatten();
    detach.pin_dir.clone().or_else(noted).unwrap_or_else(|| places::PINS.into())
}

/// Prints the error: as JSON on standard output, or as text on standard error.
fn fail(detach: &Detach, failure: &Failure) -> ExitCode {
    if detach.json {
        console::print_json(failure);
    } else {
        eprintln!("{}", console::laid_out(failure.explanation()));
    }
    Exit::from(failure).into()
}

/// Refuses, because a running filterd would lose its filter.
fn refuse(detach: &Detach, why: &str) -> ExitCode {
    let remedy = "stop it, which detaches the filter unless its configuration has `on_exit: keep`";
    let message = format!("{why}: it would lose its filter");
    fail(detach, &Failure::Refused(Explanation::new(message, remedy)))
}

fn tell(detach: &Detach, pins: &Path, removed: Option<&RemovedPins>) -> io::Result<()> {
    let interfaces = removed.map_or(&[][..], |removed| &removed.interfaces);
    let left = removed.map_or(&[][..], |removed| &removed.left);
    let out_of_reach: Vec<_> = removed.into_iter().flat_map(out_of_reach).collect();
    if detach.json {
        let mut told = serde_json::json!({ "detached": interfaces, "left": left });
        if !out_of_reach.is_empty() {
            let names: BTreeSet<_> = out_of_reach.iter().map(|(_, name)| name).collect();
            told["out_of_reach"] = serde_json::json!(names);
        }
        return console::write_json(&told);
    }
    for (side, name) in out_of_reach {
        let name = printable::on_one_line(name);
        let filter = if side == "ingress" { "the filter" } else { "an egress filter" };
        let message = format!(
            "{name}: nothing is dropped any more, but {filter} stays, because it is in another network namespace"
        );
        let remedy = format!(
            "to remove it and all other {side} filters, run in that namespace: tc filter del dev {name} {side}"
        );
        eprintln!("{}", console::laid_out(&Explanation::new(message, remedy)));
    }
    let told = match removed {
        None => nothing(pins),
        Some(_) if interfaces.is_empty() => {
            "removed the tables and programs left in the kernel; they were attached to no interface\n"
                .to_owned()
        }
        Some(_) => {
            interfaces.iter().map(|name| format!("{}: detached\n", printable::on_one_line(name))).collect()
        }
    };
    let written = if detach.quiet { Ok(()) } else { io::stdout().write_all(told.as_bytes()) };
    left.iter().for_each(|path| {
        eprintln!("filterd: {} is not filterd's and was left in place", printable::path(path))
    });
    written
}

/// The filters that stay, by their side and interface.
fn out_of_reach(removed: &RemovedPins) -> impl Iterator<Item = (&'static str, &String)> {
    let received = removed.received_out_of_reach.iter().map(|name| ("ingress", name));
    received.chain(removed.sent_out_of_reach.iter().map(|name| ("egress", name)))
}

/// The answer if there are no pins. It names their directory, because another filterd may use another one.
fn nothing(pins: &Path) -> String {
    format!("nothing to detach at {}\n", printable::path(pins))
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn noted_pins_are_detached_by_default() {
        let home = tempfile::tempdir().unwrap();
        let socket = home.path().join("control.sock");
        let detach = |pin_dir: Option<&str>| {
            let pin_dir = pin_dir.map(PathBuf::from);
            pins_of(&Detach { socket: socket.clone(), pin_dir, json: false, quiet: false })
        };
        assert_eq!(detach(None), Path::new(places::PINS), "no filterd was ever there");
        let claim = File::create(home.path().join("control.sock.lock")).unwrap();
        pins_note::write(&claim, Path::new("/sys/fs/bpf/own"), None).unwrap();
        assert_eq!(detach(None), Path::new("/sys/fs/bpf/own"));
        assert_eq!(detach(Some("/sys/fs/bpf/other")), Path::new("/sys/fs/bpf/other"));
        assert_eq!(nothing(&detach(None)), "nothing to detach at /sys/fs/bpf/own\n");
    }
}
