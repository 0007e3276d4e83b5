//! The terminal: taken, drawn on, and given back as it was, whatever ends this.

use std::env;
use std::io;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::state::{Deed, Key, Prompt, State};
use super::{EACH, ask, draw};
use crate::clock;
use crate::command::render::moment::Clock;
use crate::control::client::Endpoint;
use crate::text::Explain;

/// How long a key is waited for before anything else is looked at.
const A_MOMENT: Duration = Duration::from_millis(100);

/// Signals that would end this without giving the terminal back.
const ENDING: [Signal; 3] = [Signal::SIGTERM, Signal::SIGHUP, Signal::SIGINT];

/// Draws until somebody leaves.
pub fn run(socket: &Endpoint) -> io::Result<()> {
    let ended = SigSet::from_iter(ENDING);
    // Before threads are made: they begin with what is blocked.
    ended.thread_block()?;
    let ended = SignalFd::with_flags(&ended, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?;
    // It gives the terminal back after a panic, too.
    let mut terminal = ratatui::try_init()?;
    let outcome = draw_on(&mut terminal, socket, &ended);
    ratatui::try_restore()?;
    outcome
}

fn draw_on(terminal: &mut ratatui::DefaultTerminal, socket: &Endpoint, ended: &SignalFd) -> io::Result<()> {
    let has_colours = env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let look = draw::Look { has_colours };
    let (mut state, mut due) = (State::default(), clock::instant());
    loop {
        if due <= clock::instant() {
            due = clock::instant() + EACH;
            look_at(socket, &mut state);
        }
        terminal.draw(|frame| draw::draw(&state, &Clock::system(), look, frame))?;
        if ended.read_signal().is_ok_and(|signal| signal.is_some()) {
            return Ok(());
        }
        if !event::poll(A_MOMENT.min(left(due)))? {
            continue;
        }
        let Some(key) = key(&event::read()?) else { continue };
        match state.press(key) {
            Deed::Nothing => {}
            Deed::Leave => return Ok(()),
            Deed::Do(words) => {
                state.prompt = Prompt::Answer(done(socket, &words));
                due = clock::instant();
            }
        }
    }
}

fn left(due: Instant) -> Duration {
    due.saturating_duration_since(clock::instant())
}

fn look_at(socket: &Endpoint, state: &mut State) {
    match ask(socket) {
        Ok(picture) => state.take(picture),
        Err(error) => state.lose(error.explain().to_string()),
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

fn key(event: &Event) -> Option<Key> {
    let Event::Key(KeyEvent { code, modifiers, kind, .. }) = event else { return None };
    if *kind == KeyEventKind::Release {
        return None;
    }
    Some(match code {
        KeyCode::Char('c') if modifiers.contains(KeyModifiers::CONTROL) => Key::Interrupt,
        KeyCode::Char(_) if modifiers.contains(KeyModifiers::CONTROL) => return None,
        KeyCode::Char(letter) => Key::Letter(*letter),
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Enter => Key::Enter,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Esc => Key::Escape,
        _ => return None,
    })
}
