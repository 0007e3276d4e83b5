//! The state of `top`, and how keys change it. It draws nothing, sends no requests, and reads no clock.

use std::collections::HashMap;

use super::history::History;
use crate::control::sources::{By, Sources};
use crate::control::wire::lists::List;
use crate::control::wire::snapshot::Reply as Snapshot;

/// A key, as `top` uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    Letter(char),
    Up,
    Down,
    Enter,
    Backspace,
    Escape,
    /// Ctrl-C leaves in any state.
    Interrupt,
}

/// The action that a key requests.
#[derive(Debug, PartialEq, Eq)]
pub enum Deed {
    Nothing,
    Leave,
    /// Run this command of filterd.
    Do(Vec<String>),
}

/// The order in which lists are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    #[default]
    Rate,
    Hits,
    Entries,
    Name,
    Configured,
}

impl Order {
    const ALL: [Self; 5] = [Self::Rate, Self::Hits, Self::Entries, Self::Name, Self::Configured];

    /// The name of the order on the screen.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::Hits => "hits",
            Self::Entries => "entries",
            Self::Name => "name",
            Self::Configured => "the configuration",
        }
    }

    fn next(self) -> Self {
        let place = Self::ALL.iter().position(|order| *order == self).unwrap_or(0);
        Self::ALL[(place + 1) % Self::ALL.len()]
    }
}

/// The content of the largest part of the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum View {
    #[default]
    Lists,
    Sources,
    Reasons,
}

impl View {
    const fn next(self) -> Self {
        match self {
            Self::Lists => Self::Sources,
            Self::Sources => Self::Reasons,
            Self::Reasons => Self::Lists,
        }
    }
}

/// The content of the last line.
#[derive(Debug, Default, PartialEq, Eq)]
pub enum Prompt {
    /// The keys that are available.
    #[default]
    Keys,
    /// All keys with explanations, over the picture.
    Help,
    /// The argument of this verb is typed: a target, or a length of time.
    Typing { verb: &'static str, typed: String },
    /// The user is asked to confirm a command.
    Sure(Vec<String>),
    /// The output of a command.
    Answer(String),
}

/// The whole state of `top`.
#[derive(Debug, Default)]
pub struct State {
    pub picture: Option<Snapshot>,
    before: Option<Snapshot>,
    /// Why there is no newer picture.
    pub lost: Option<String>,
    pub drops: History,
    pub passes: History,
    pub order: Order,
    pub view: View,
    pub by: By,
    pub sources: Sources,
    pub selected: usize,
    pub prompt: Prompt,
    /// The output of a command that ended while the user typed.
    untold: Option<String>,
}

/// No target is longer than this.
const LONGEST: usize = 100;

impl State {
    /// Takes a newer picture.
    pub fn take(&mut self, picture: Snapshot) {
        // After a gap there is no rate.
        let is_next = self.lost.take().is_none();
        self.before = self.picture.replace(picture).filter(|_| is_next);
        let (drops, passes) = (self.rate_of("drop"), self.rate_of("pass"));
        self.drops.push(drops);
        self.passes.push(passes);
    }

    /// Notes that there is no newer picture.
    pub fn lose(&mut self, why: String) {
        self.lost = Some(why);
        self.before = None;
        self.drops.push(None);
        self.passes.push(None);
    }

    /// Shows the output of a command. A user who types is not interrupted.
    pub fn answer(&mut self, said: String) {
        match self.prompt {
            Prompt::Keys | Prompt::Answer(_) => self.prompt = Prompt::Answer(said),
            Prompt::Help | Prompt::Typing { .. } | Prompt::Sure(_) => self.untold = Some(said),
        }
    }

    /// Packets per second with this verdict, if two pictures allow to calculate it.
    pub fn rate_of(&self, verdict: &str) -> Option<f64> {
        self.rate(|picture| {
            Some(picture.reasons.iter().filter(|row| row.verdict == verdict).map(|row| row.packets).sum())
        })
    }

    /// Packets per second that hit this list.
    pub fn rate_for(&self, name: &str) -> Option<f64> {
        self.rate(|picture| {
            let list = picture.lists.iter().find(|list| list.name == name)?;
            list.hits.map(|hits| hits.all())
        })
    }

    /// Packets per second that were dropped on this interface.
    pub fn rate_on(&self, name: &str) -> Option<f64> {
        self.rate(|picture| {
            let rows = picture.by_interface.iter().filter(|row| row.interface.as_deref() == Some(name));
            (!picture.by_interface.is_empty()).then(|| rows.map(|row| row.packets).sum())
        })
    }

    /// Packets per second that the kernel received on this interface.
    pub fn rate_received(&self, name: &str) -> Option<f64> {
        self.rate(|picture| {
            let interface = picture.interfaces.iter().find(|interface| interface.name == name)?;
            Some(interface.received.as_ref()?.kernel_rx_packets)
        })
    }

    /// Calculates a rate, unless the counter was reset in between.
    fn rate(&self, counter: impl Fn(&Snapshot) -> Option<u64>) -> Option<f64> {
        let (now, before) = (self.picture.as_ref()?, self.before.as_ref()?);
        let milliseconds = now.uptime.checked_sub(before.uptime).filter(|time| *time > 0)?;
        let more = counter(now)?.checked_sub(counter(before)?)?;
        (now.pid == before.pid).then(|| more as f64 * 1000.0 / milliseconds as f64)
    }

    /// Lists that block, in the chosen order, then lists that allow.
    pub fn lists(&self) -> Vec<&List> {
        let Some(picture) = &self.picture else { return Vec::new() };
        let mut lists: Vec<&List> = picture.lists.iter().collect();
        let rates: HashMap<&str, f64> =
            lists.iter().filter_map(|list| Some((list.name.as_str(), self.rate_for(&list.name)?))).collect();
        let rate = |list: &List| rates.get(list.name.as_str()).copied().unwrap_or(0.0);
        let hits = |list: &List| list.hits.map_or(0, |hits| hits.all());
        match self.order {
            Order::Rate => {
                lists.sort_by(|a, b| rate(b).total_cmp(&rate(a)).then(hits(b).cmp(&hits(a))));
            }
            Order::Hits => lists.sort_by_key(|list| std::cmp::Reverse(hits(list))),
            Order::Entries => lists.sort_by_key(|list| std::cmp::Reverse(list.entries)),
            Order::Name => lists.sort_by(|a, b| a.name.cmp(&b.name)),
            Order::Configured => {}
        }
        lists.sort_by_key(|list| list.allows);
        lists
    }

    /// Handles a key, and returns the resulting action.
    pub fn press(&mut self, key: Key) -> Deed {
        if key == Key::Interrupt {
            return Deed::Leave;
        }
        let deed = self.press_on(key);
        if self.prompt == Prompt::Keys
            && let Some(said) = self.untold.take()
        {
            self.prompt = Prompt::Answer(said);
        }
        deed
    }

    fn press_on(&mut self, key: Key) -> Deed {
        match std::mem::take(&mut self.prompt) {
            Prompt::Typing { verb, typed } => self.type_on(verb, typed, key),
            Prompt::Sure(words) if key == Key::Letter('y') => return Deed::Do(words),
            Prompt::Sure(_) => self.prompt = Prompt::Answer("not done".to_owned()),
            Prompt::Keys | Prompt::Answer(_) => return self.browse(key),
            // Any key closes the help.
            Prompt::Help => {}
        }
        Deed::Nothing
    }

    fn browse(&mut self, key: Key) -> Deed {
        match key {
            Key::Letter('q') => return Deed::Leave,
            Key::Letter('?' | 'h') => self.prompt = Prompt::Help,
            Key::Letter('v') => (self.view, self.selected) = (self.view.next(), 0),
            Key::Letter('s') if self.view == View::Sources => self.by = self.by.next(),
            Key::Letter('s') => self.order = self.order.next(),
            Key::Up | Key::Letter('k') => self.selected = self.selected.saturating_sub(1),
            Key::Down | Key::Letter('j') => {
                self.selected = (self.selected + 1).min(self.rows().saturating_sub(1));
            }
            Key::Letter('p') => {
                let is_paused = self.picture.as_ref().is_some_and(|picture| picture.paused.is_some());
                self.prompt = if is_paused {
                    Prompt::Sure(vec!["resume".to_owned()])
                } else {
                    Prompt::Typing { verb: "pause", typed: "5m".to_owned() }
                };
            }
            Key::Letter('b') => self.prompt = Prompt::Typing { verb: "add", typed: self.chosen_source() },
            Key::Letter('u') => self.prompt = Prompt::Typing { verb: "remove", typed: self.chosen_source() },
            Key::Letter(_) | Key::Enter | Key::Backspace | Key::Escape | Key::Interrupt => {}
        }
        Deed::Nothing
    }

    /// The number of rows that can be selected.
    fn rows(&self) -> usize {
        match self.view {
            View::Lists => self.lists().len(),
            View::Sources => self.sources.by_source(self.by).len(),
            View::Reasons => self.sources.by_reason().len(),
        }
    }

    /// The address of the selected source; empty if none is selected.
    fn chosen_source(&self) -> String {
        if self.view != View::Sources {
            return String::new();
        }
        let sources = self.sources.by_source(self.by);
        sources.into_iter().nth(self.selected).map(|row| row.name).unwrap_or_default()
    }

    fn type_on(&mut self, verb: &'static str, mut typed: String, key: Key) {
        match key {
            Key::Escape => return,
            Key::Enter if typed.trim().is_empty() => return,
            Key::Enter => {
                self.prompt = Prompt::Sure(vec![verb.to_owned(), "--".to_owned(), typed.trim().to_owned()]);
                return;
            }
            Key::Backspace => _ = typed.pop(),
            Key::Letter(letter) if typed.len() < LONGEST && !letter.is_control() => typed.push(letter),
            Key::Letter(_) | Key::Up | Key::Down | Key::Interrupt => {}
        }
        self.prompt = Prompt::Typing { verb, typed };
    }
}
