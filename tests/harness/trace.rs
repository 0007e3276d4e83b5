//! What a process asks of the kernel: strace writes it down.

use crate::limited::LimitedChild;
use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::refusal::wait_until_traced;

/// It is written down until this is ended or dropped.
#[derive(Debug)]
pub struct Trace {
    strace: Child,
    file: PathBuf,
}

impl Trace {
    /// These calls of a process and all its threads, into a file.
    pub fn of(process: u32, calls: &str, file: PathBuf) -> Self {
        let mut strace = Command::new("strace");
        strace.args(["-f", "-y", "-s", "4096", "-qqq", "-e", &format!("trace={calls}"), "-o"]).arg(&file);
        strace.args(["-p", &process.to_string()]);
        let strace = strace.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        wait_until_traced(process);
        Self { strace: strace.expect("strace can be run"), file }
    }

    /// Every call that was done and did not fail, in the order in which they came back: `fsync(5</a/file>) = 0`.
    pub fn end(mut self) -> Vec<String> {
        let id = i32::try_from(self.strace.id()).expect("process ids are small");
        kill(Pid::from_raw(id), Signal::SIGINT).expect("it is our child");
        self.strace.limited_wait().expect("it is our child");
        whole(&fs::read_to_string(&self.file).expect("strace has written it"))
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        let _ = self.strace.kill();
        let _ = self.strace.limited_wait();
    }
}

/// Calls that were told in two halves, because another thread's came between, are put together.
fn whole(text: &str) -> Vec<String> {
    let mut begun = HashMap::new();
    let mut calls = Vec::new();
    for line in text.lines() {
        let (thread, told) = line.split_once(' ').expect("a thread stands before its call");
        let told = told.trim_start();
        if let Some(first) = told.strip_suffix(" <unfinished ...>") {
            begun.insert(thread.to_owned(), first.to_owned());
        } else if let Some((_, rest)) =
            told.strip_prefix("<... ").and_then(|told| told.split_once(" resumed>"))
        {
            calls.push(begun.remove(thread).unwrap_or_default() + rest);
        } else {
            calls.push(told.to_owned());
        }
    }
    calls.retain(|call| !call.contains(" = -1 "));
    calls
}
