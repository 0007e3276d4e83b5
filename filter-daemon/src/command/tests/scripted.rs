//! A scripted daemon on a thread, and commands that connect to it.

use std::io::{BufRead, BufReader, Cursor, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use clap::Parser;
use serde_json::{Value, json};

use super::super::*;
use crate::control::wire::{self, Message};

/// Listens, answers every request by `answer`, and records the requests. A command may connect twice, so it
/// listens until it is dropped.
pub struct Daemon {
    pub socket: PathBuf,
    thread: Option<JoinHandle<Vec<Message>>>,
    is_over: Arc<AtomicBool>,
    _place: tempfile::TempDir,
}

impl Daemon {
    pub fn answering(answer: impl Fn(&Message) -> Value + Send + 'static) -> Self {
        Self::answering_in_parts(move |request| vec![answer(request)])
    }

    pub fn answering_in_parts(answer: impl Fn(&Message) -> Vec<Value> + Send + 'static) -> Self {
        let place = tempfile::tempdir().unwrap();
        let socket = place.path().join("control.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = is_over.clone();
        let thread = thread::spawn(move || {
            let (asked, answer, open) = (Mutex::new(Vec::new()), Mutex::new(answer), AtomicUsize::new(0));
            let converse = |stream: UnixStream| {
                for line in BufReader::new(&stream).lines().map_while(Result::ok) {
                    let request = serde_json::from_str(&line).unwrap();
                    let parts = answer.lock().unwrap()(&request);
                    asked.lock().unwrap().push(request);
                    // The client may have closed the connection already.
                    parts.iter().for_each(|part| drop(writeln!(&stream, "{part}")));
                }
                open.fetch_sub(1, Ordering::Relaxed);
            };
            thread::scope(|scope| {
                listener.set_nonblocking(true).unwrap();
                let mut came = listener.accept();
                loop {
                    match came {
                        Ok((stream, _)) => {
                            open.fetch_add(1, Ordering::Relaxed);
                            scope.spawn(|| converse(stream));
                        }
                        Err(_) if ends.load(Ordering::Relaxed) && open.load(Ordering::Relaxed) == 0 => break,
                        Err(_) => thread::sleep(Duration::from_millis(1)),
                    }
                    came = listener.accept();
                }
            });
            asked.into_inner().unwrap()
        });
        Self { socket, thread: Some(thread), is_over, _place: place }
    }

    pub fn asked(mut self) -> Vec<Message> {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

/// Replies that every target was changed.
pub fn all_changed(request: &Message) -> Value {
    let named = named(request);
    json!({"parameters": {"named": named, "changed": named, "entered": named, "left": named}})
}

pub fn none_changed(request: &Message) -> Value {
    json!({"parameters": {"named": named(request), "changed": 0, "entered": 0, "left": 0}})
}

pub fn named(request: &Message) -> usize {
    if let Message::Add(wire::Add { targets, .. }) | Message::Remove(wire::Remove { targets, .. }) = request {
        return targets.len();
    }
    panic!("{request:?} names no targets");
}

#[derive(Parser)]
struct Line {
    #[command(subcommand)]
    verb: Verb,
}

/// The exit code and the output of a command.
pub struct CommandResult {
    pub exit: Exit,
    pub out: String,
    pub err: String,
}

pub fn run(line: &str, socket: impl Into<Endpoint>, input: &[u8]) -> CommandResult {
    let words: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
    run_at(&Clock::system, &words, socket, input)
}

/// Runs a command that reads the time from this clock.
pub fn run_at(
    clock: &dyn Fn() -> Clock,
    words: &[String],
    socket: impl Into<Endpoint>,
    input: &[u8],
) -> CommandResult {
    let has = |flag: &str| words.iter().any(|word| word == flag);
    let (json, quiet) = (has("--json"), has("-q"));
    let own_words = words.iter().filter(|word| !["--json", "-q"].contains(&word.as_str()));
    let Line { verb } = Line::try_parse_from(own_words).unwrap_or_else(|error| panic!("{error}"));
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut console = Console {
        json,
        quiet,
        input_is_terminal: false,
        input_length: Some(input.len() as u64),
        progress: false,
        clock,
        input: &mut Cursor::new(input),
        out: &mut out,
        err: &mut err,
    };
    let exit = apply(&verb, &socket.into(), &mut console);
    CommandResult { exit, out: String::from_utf8(out).unwrap(), err: String::from_utf8(err).unwrap() }
}
