//! `filterd detach`: takes out of the kernel what a filterd has left there that no longer runs.

use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use crate::cli::Detach;
use crate::command::render::console::laid_out;
use crate::exit::Exit;
use crate::kernel::leftovers;
use crate::text::{Explain, Explanation};

/// Removes everything, and tells what it was.
pub fn detach(detach: &Detach) -> ExitCode {
    if UnixStream::connect(&detach.socket).is_ok() {
        let remedy = "stop it: that detaches too, unless its configuration says `on_exit: keep`";
        let told = Explanation::new("filterd is running, and would be left without its filter", remedy);
        eprintln!("{}", laid_out(&told));
        return Exit::Refused.into();
    }
    match leftovers::remove(&detach.pin_dir) {
        Ok(names) => {
            tell(detach, names.as_deref());
            Exit::Done.into()
        }
        Err(error) => {
            eprintln!("{}", laid_out(&error.explain()));
            Exit::Kernel.into()
        }
    }
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
