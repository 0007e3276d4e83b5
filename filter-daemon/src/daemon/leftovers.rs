//! `filterd detach`: takes out of the kernel what a filterd has left there that no longer runs.

use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use crate::cli::Detach;
use crate::command::render::console;
use crate::control::wire::Failure;
use crate::exit::Exit;
use crate::kernel::leftovers;
use crate::text::{Explain, Explanation};

/// Removes everything, and tells what it was.
pub fn detach(detach: &Detach) -> ExitCode {
    if UnixStream::connect(&detach.socket).is_ok() {
        let remedy = "stop it: that detaches too, unless its configuration says `on_exit: keep`";
        let told = Explanation::new("filterd is running, and would be left without its filter", remedy);
        return fail(detach, &Failure::Refused(told));
    }
    match leftovers::remove(&detach.pin_dir) {
        Ok(names) => {
            tell(detach, names.as_deref());
            Exit::Done.into()
        }
        Err(error) => fail(detach, &Failure::Kernel(error.explain())),
    }
}

/// To programs on standard output, to people on standard error.
fn fail(detach: &Detach, failure: &Failure) -> ExitCode {
    if detach.json {
        console::print_json(failure);
    } else {
        eprintln!("{}", console::laid_out(failure.explanation()));
    }
    Exit::from(failure).into()
}

fn tell(detach: &Detach, names: Option<&[String]>) {
    if detach.json {
        println!("{}", serde_json::json!({ "version": 1, "detached": names.unwrap_or_default() }));
    } else if !detach.quiet {
        match names {
            None => println!("there was nothing to detach"),
            Some([]) => println!("removed what was left in the kernel; it was attached to no interface"),
            Some(names) => names.iter().for_each(|name| println!("{name}: detached")),
        }
    }
}
