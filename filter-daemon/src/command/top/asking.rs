//! Asks the daemon for `top`, on a thread of its own, so that the user can leave even if the daemon hangs.

use std::env;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread;

use super::ask;
use crate::control::client::Endpoint;
use crate::control::wire::snapshot::Reply as Snapshot;
use crate::text::Explain;

/// A request to the thread.
#[derive(Debug)]
enum Question {
    Picture,
    /// Run a command of filterd.
    Do(Vec<String>),
}

/// An answer of the thread.
#[derive(Debug)]
pub enum TopReply {
    Picture(Box<Snapshot>),
    /// There is no picture, for this reason.
    NoPicture(String),
    /// The output of a command.
    Done(String),
}

/// The connection to the thread.
pub struct DaemonQueries {
    questions: Sender<Question>,
    answers: Receiver<TopReply>,
    /// Whether a picture has been requested and not yet received.
    is_asked: bool,
}

impl DaemonQueries {
    /// Starts the thread that sends requests.
    pub fn of(socket: &Endpoint) -> Self {
        let (questions, asked) = channel();
        let (answer, answers) = channel();
        let socket = socket.clone();
        // The thread ends when either channel is closed.
        thread::spawn(move || {
            for question in asked {
                if answer.send(told(&socket, question)).is_err() {
                    return;
                }
            }
        });
        Self { questions, answers, is_asked: false }
    }

    /// Requests a picture, unless one has been requested already.
    pub fn ask_for_a_picture(&mut self) {
        if !self.is_asked {
            self.is_asked = self.questions.send(Question::Picture).is_ok();
        }
    }

    /// Requests that a command be run.
    pub fn order(&self, words: Vec<String>) {
        // If the thread is gone there is no picture either, and the screen shows that.
        let _ = self.questions.send(Question::Do(words));
    }

    /// The next answer, if one has arrived.
    pub fn answer(&mut self) -> Option<TopReply> {
        match self.answers.try_recv() {
            Ok(told) => {
                self.is_asked &= matches!(told, TopReply::Done(_));
                Some(told)
            }
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => None,
        }
    }
}

fn told(socket: &Endpoint, question: Question) -> TopReply {
    match question {
        Question::Picture => match ask(socket) {
            Ok(picture) => TopReply::Picture(Box::new(picture)),
            Err(error) => TopReply::NoPicture(error.explain().to_string()),
        },
        Question::Do(words) => TopReply::Done(done(socket, &words)),
    }
}

/// Runs a command and returns its output, so that messages are the same as on a command line.
fn done(socket: &Endpoint, words: &[String]) -> String {
    let filterd = env::current_exe().unwrap_or_else(|_| "filterd".into());
    let asked = Command::new(filterd)
        .args(["--socket".as_ref(), socket.socket.as_os_str()])
        .args(words)
        .stdin(Stdio::null())
        .output();
    match asked {
        Ok(output) => {
            let said = [output.stdout, output.stderr].concat();
            let said = String::from_utf8_lossy(&said).trim().to_owned();
            if said.is_empty() { "done".to_owned() } else { said }
        }
        Err(error) => format!("filterd cannot be run: {error}"),
    }
}
