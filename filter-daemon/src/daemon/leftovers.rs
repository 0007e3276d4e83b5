//! `filterd detach`: removes the objects that a filterd which no longer runs has left in the kernel.

use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use crate::cli::Detach;
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
    if detach.is_usual && UnixStream::connect(&detach.socket).is_ok() {
        return refuse(detach, "filterd is running");
    }
    match leftovers::remove(&detach.pin_dir) {
        Ok(removed) => {
            // The operator removed the filter on purpose, so that no start needs to report a gap.
            _ = pins_note::detached(&detach.socket, &detach.pin_dir);
            let told = console::ended(tell(detach, removed.as_ref()));
            let is_all = removed.is_none_or(|removed| removed.out_of_reach.is_empty());
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

fn tell(detach: &Detach, removed: Option<&RemovedPins>) -> io::Result<()> {
    let interfaces = removed.map_or(&[][..], |removed| &removed.interfaces);
    let left = removed.map_or(&[][..], |removed| &removed.left);
    let out_of_reach = removed.map_or(&[][..], |removed| &removed.out_of_reach);
    if detach.json {
        let mut told = serde_json::json!({ "detached": interfaces, "left": left });
        if !out_of_reach.is_empty() {
            told["out_of_reach"] = out_of_reach.into();
        }
        return console::write_json(&told);
    }
    for name in out_of_reach {
        let name = printable::on_one_line(name);
        let message = format!(
            "{name}: nothing is dropped any more, but the egress filter of `match: new` stays, because it is in another network namespace"
        );
        let remedy = format!(
            "to remove it and all other egress filters, run in that namespace: tc filter del dev {name} egress"
        );
        eprintln!("{}", console::laid_out(&Explanation::new(message, remedy)));
    }
    let told = match removed {
        None => "nothing to detach\n".to_owned(),
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
