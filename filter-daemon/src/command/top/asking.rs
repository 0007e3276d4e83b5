//! Whoever asks the daemon for `top`: a thread of its own, so that a daemon that hangs keeps nobody from leaving.

use std::env;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread;

use super::ask;
use crate::control::client::Endpoint;
use crate::control::wire::snapshot::Reply as Snapshot;
use crate::text::Explain;

/// What is asked.
#[derive(Debug)]
enum Question {
    Picture,
    /// That this command be carried out.
    Do(Vec<String>),
}

/// What came of it.
#[derive(Debug)]
pub enum Told {
    Picture(Box<Snapshot>),
    /// There is none, and why.
    NoPicture(String),
    /// What a command said.
    Done(String),
}

/// The other end of that thread.
pub struct Asking {
    questions: Sender<Question>,
    answers: Receiver<Told>,
    /// Is a picture on its way?
    is_asked: bool,
}

impl Asking {
    /// Begins it.
    pub fn of(socket: &Endpoint) -> Self {
        let (questions, asked) = channel();
        let (answer, answers) = channel();
        let socket = socket.clone();
        // It ends when nobody asks, or nobody listens, any more.
        thread::spawn(move || {
            for question in asked {
                if answer.send(told(&socket, question)).is_err() {
                    return;
                }
            }
        });
        Self { questions, answers, is_asked: false }
    }

    /// A picture is wanted, unless one is on its way.
    pub fn ask_for_a_picture(&mut self) {
        if !self.is_asked {
            self.is_asked = self.questions.send(Question::Picture).is_ok();
        }
    }

    /// This command is to be carried out.
    pub fn order(&self, words: Vec<String>) {
        // Where the thread is gone there is no picture either, and that is told.
        let _ = self.questions.send(Question::Do(words));
    }

    /// What was answered meanwhile, if anything.
    pub fn answer(&mut self) -> Option<Told> {
        match self.answers.try_recv() {
            Ok(told) => {
                self.is_asked &= matches!(told, Told::Done(_));
                Some(told)
            }
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => None,
        }
    }
}

fn told(socket: &Endpoint, question: Question) -> Told {
    match question {
        Question::Picture => match ask(socket) {
            Ok(picture) => Told::Picture(Box::new(picture)),
            Err(error) => Told::NoPicture(error.explain().to_string()),
        },
        Question::Do(words) => Told::Done(done(socket, &words)),
    }
}

/// What the command itself says: so nobody is told anything else here than on a command line.
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
