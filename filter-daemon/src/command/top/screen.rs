//! Takes over the terminal, draws on it, and restores it however the program ends.

use std::env;
use std::io::{self, stdin};
use std::os::fd::AsFd;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::asking::{DaemonQueries, TopReply};
use super::look::Appearance;
use super::state::{KeyAction, KeyPress, TopState};
use super::{EACH, draw, sampling};
use crate::clock;
use crate::command::render::moment::Clock;
use crate::control::client::Endpoint;

/// How long to wait for a key before looking for answers, in milliseconds.
const A_MOMENT: u16 = 50;

/// Signals that would otherwise end this process without restoring the terminal.
const ENDING: [Signal; 3] = [Signal::SIGTERM, Signal::SIGHUP, Signal::SIGINT];

/// Draws until the user leaves.
pub fn run(socket: &Endpoint) -> io::Result<()> {
    let ended = SigSet::from_iter(ENDING);
    // Blocked before threads are started, because they inherit the blocked signals.
    ended.thread_block()?;
    let ended = SignalFd::with_flags(&ended, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?;
    // This also restores the terminal after a panic.
    let mut terminal = ratatui::try_init()?;
    let outcome = draw_on(&mut terminal, socket, &ended);
    ratatui::try_restore()?;
    outcome
}

fn draw_on(terminal: &mut ratatui::DefaultTerminal, socket: &Endpoint, ended: &SignalFd) -> io::Result<()> {
    let has_colours = env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let look = Appearance::on_a_screen(has_colours);
    let (mut state, mut asking) = (TopState::default(), DaemonQueries::of(socket));
    let drops = sampling::begin(socket);
    let mut due = clock::instant();
    let mut is_other = true;
    loop {
        if due <= clock::instant() {
            due = clock::instant() + EACH;
            asking.ask_for_a_picture();
            // Displayed times advance even if the daemon is silent.
            is_other = true;
        }
        while let Some(told) = asking.answer() {
            take(&mut state, told);
            is_other = true;
        }
        // New samples are drawn with the next picture.
        state.sources.go_on(clock::instant());
        drops.try_iter().for_each(|came| sampling::take(&mut state.sources, came));
        if is_other {
            terminal.draw(|frame| draw::draw(&state, &Clock::system(), look, frame))?;
            is_other = false;
        }
        match next(ended)? {
            ScreenEvent::End => return Ok(()),
            ScreenEvent::Nothing => {}
            ScreenEvent::Other => is_other = true,
            ScreenEvent::Pressed => {
                while event::poll(Duration::ZERO)? {
                    is_other = true;
                    match key(&event::read()?).map(|key| state.press(key)) {
                        Some(KeyAction::Leave) => return Ok(()),
                        Some(KeyAction::Do(words)) => {
                            state.answer(format!("filterd {} …", words.join(" ")));
                            asking.order(words);
                            due = clock::instant();
                        }
                        Some(KeyAction::Nothing) | None => {}
                    }
                }
            }
        }
    }
}

fn take(state: &mut TopState, told: TopReply) {
    match told {
        TopReply::Picture(picture) => state.take(*picture),
        TopReply::NoPicture(why) => state.lose(why),
        TopReply::Done(said) => state.answer(said),
    }
}

/// The next event to handle.
enum ScreenEvent {
    Nothing,
    Pressed,
    /// The screen may have another size.
    Other,
    /// A signal asks to end, or the terminal is gone.
    End,
}

/// Waits a moment for an event. A read from a terminal that is gone would never return, so that is checked
/// here.
fn next(ended: &SignalFd) -> io::Result<ScreenEvent> {
    let keyboard = stdin();
    let mut asked =
        [PollFd::new(keyboard.as_fd(), PollFlags::POLLIN), PollFd::new(ended.as_fd(), PollFlags::POLLIN)];
    match poll(&mut asked, PollTimeout::from(A_MOMENT)) {
        Ok(_) => {}
        Err(Errno::EINTR) => return Ok(ScreenEvent::Other),
        Err(error) => return Err(error.into()),
    }
    let came = |asked: &PollFd<'_>| asked.revents().unwrap_or(PollFlags::empty());
    let [keys, signals] = &asked;
    if came(keys).intersects(PollFlags::POLLHUP | PollFlags::POLLERR | PollFlags::POLLNVAL)
        || came(signals).contains(PollFlags::POLLIN)
    {
        return Ok(ScreenEvent::End);
    }
    Ok(if came(keys).contains(PollFlags::POLLIN) { ScreenEvent::Pressed } else { ScreenEvent::Nothing })
}

fn key(event: &Event) -> Option<KeyPress> {
    let Event::Key(KeyEvent { code, modifiers, kind, .. }) = event else { return None };
    if *kind == KeyEventKind::Release {
        return None;
    }
    let is_controlled = modifiers.contains(KeyModifiers::CONTROL);
    let keys = [
        (KeyCode::Up, KeyPress::Up),
        (KeyCode::Down, KeyPress::Down),
        (KeyCode::Enter, KeyPress::Enter),
        (KeyCode::Backspace, KeyPress::Backspace),
        (KeyCode::Esc, KeyPress::Escape),
    ];
    if let KeyCode::Char(letter) = code {
        let interrupts = (*letter == 'c').then_some(KeyPress::Interrupt);
        return if is_controlled { interrupts } else { Some(KeyPress::Letter(*letter)) };
    }
    keys.into_iter().find(|(of, _)| of == code).map(|(_, key)| key)
}
